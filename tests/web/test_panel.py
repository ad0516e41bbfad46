"""The panel: the automations of this conversation, their runs and explanations."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation

Open = Callable[..., Page]


def job_of(page: Page, name: str) -> Locator:
    return page.locator("segue-automation", has=page.get_by_role("heading", name=name))


def test_a_schedule_is_shown_in_words_and_in_the_viewers_zone_without_a_run_now_button(
    server: Served, open_page: Open
) -> None:
    """Issue 8: not built, on purpose: run-now buttons, a global calendar."""
    key = server.session("websocket:words", timezone="America/New_York")
    automation(server, key, "monitor", "0 9 * * 1-5")
    page = open_page(server.at(key))
    job = job_of(page, "monitor")
    expect(job).to_contain_text("weekdays at 09:00")
    expect(job).to_contain_text("America/New_York")
    expect(job.locator(".next")).to_contain_text(re.compile(r"next .*1[45]:00"))
    expect(job.locator(".status")).to_have_text("active")
    expect(page.get_by_role("button", name=re.compile(r"run|calendar", re.IGNORECASE))).to_have_count(0)


def test_an_automation_is_paused_and_resumed_its_next_run_skipped_and_its_schedule_edited_in_words(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:pause", timezone="Europe/Berlin")
    made = automation(server, key, "monitor", "0 9 * * *")
    page = open_page(server.at(key))
    job = job_of(page, "monitor")
    job.get_by_role("button", name="Pause").click()
    expect(job.locator(".status")).to_have_text("paused")
    expect(page.locator("segue-ghost")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(job.locator(".status")).to_have_text("active")
    job.get_by_role("button", name="Pause").click()
    job.get_by_role("button", name="Resume").click()
    expect(page.locator("segue-ghost")).to_have_count(1)
    assert server.call("GET", f"automations/{made}")["enabled"]
    before = job.locator(".next").inner_text()
    job.get_by_label("More actions").click()
    job.get_by_role("button", name="Skip next").click()
    expect(job.locator(".next")).not_to_have_text(before)
    expect(job.locator(".mark.skipped")).to_have_count(1)
    # An edited schedule is refused with an explanation if it is unreadable.
    job_of(page, "monitor").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="When").fill("whenever it suits")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("could not read")
    expect(page.get_by_role("textbox", name="When")).to_have_value("whenever it suits")
    page.get_by_role("textbox", name="When").fill("every weekday at 8")
    page.get_by_label("Name").fill("early monitor")
    page.get_by_role("button", name="Save").click()
    expect(job_of(page, "early monitor")).to_contain_text("weekdays at 08:00")
    assert server.call("GET", f"automations/{made}")["schedule"]["expr"] == "0 8 * * 1-5"


def test_a_removed_automation_is_paused_until_the_removal_is_undone_or_the_page_is_left(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:remove")
    made = automation(server, key, "monitor", "0 9 * * *")
    page = open_page(server.at(key))
    job_of(page, "monitor").get_by_label("More actions").click()
    job_of(page, "monitor").get_by_role("button", name="Remove").click()
    expect(job_of(page, "monitor")).to_have_count(0)
    assert not server.call("GET", f"automations/{made}")["enabled"]
    page.get_by_role("button", name="Undo").click()
    expect(job_of(page, "monitor").locator(".status")).to_have_text("active")
    job_of(page, "monitor").get_by_label("More actions").click()
    job_of(page, "monitor").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.goto("about:blank")
    server.wait_for(f"sessions/{key}/automations", lambda answer: not answer["jobs"])


def test_a_failed_turn_and_the_strip_of_runs_lead_to_the_details_of_a_run(
    server: Served, open_page: Open
) -> None:
    """Issue 8: outcomes over time with prompt reference, rendered prompt, lateness, usage, error."""
    key = server.session("websocket:strip", title="Deploy watch")
    automation(server, key, "monitor", "every 1s", policy={"max_runs": 3})
    page = open_page(server.at(key))
    server.wait_for(f"sessions/{key}/runs", lambda answer: len(answer["runs"]) == 3)
    made = automation(server, key, "fragile", "every 1s", message="fail")
    expect(page.locator("segue-turn.failed").first).to_be_visible()
    server.wait_for(
        f"automations/{made}/runs", lambda answer: any(run["outcome"] == "error" for run in answer["runs"])
    )
    server.call("POST", f"automations/{made}/pause")
    job = job_of(page, "fragile")
    detail = job.locator("segue-run")
    expect(job.locator(".status")).to_have_text("paused")
    page.locator("segue-turn.failed").first.get_by_role("button", name="Why?").click()
    expect(detail.locator(".told")).not_to_be_empty()
    page.reload()
    expect(job.locator(".mark.error").first).to_be_visible()
    job.locator(".mark.error").first.click()
    expect(detail).to_contain_text("the model fell over")
    expect(detail).to_contain_text("Due")
    detail.get_by_text("Prompt sent to the agent").click()
    expect(detail.locator("pre").last).to_contain_text("fail")
    detail.get_by_role("button", name="Why?").click()
    expect(detail.locator(".told")).to_contain_text("It ended as error")
