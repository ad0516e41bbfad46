"""Quiet hours and digests on the page: set in the settings, shown in the header, and answers that wait."""

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Served
from tests.web.test_conditions import editor, policy_of
from tests.web.test_future import automation
from tests.web.test_panel import job_of

Open = Callable[..., Page]
BERLIN = "Europe/Berlin"


def around_now() -> tuple[str, str]:
    """Quiet hours that have begun and last for some hours."""
    hour = datetime.now(ZoneInfo(BERLIN)).hour
    return f"{(hour - 1) % 24:02}:00", f"{(hour + 9) % 24:02}:00"


def quiet_form(page: Page) -> Locator:
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Edit quiet hours").click()
    return page.locator("segue-quiet")


def test_quiet_hours_are_set_in_the_settings_shown_by_a_moon_and_checked_while_they_are_written(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:quiet", timezone=BERLIN)
    page = open_page(server.at(key))
    expect(page.locator("segue-moon")).to_be_hidden()
    form = quiet_form(page)
    start, end = around_now()
    form.get_by_label("Keep quiet in these hours").check()
    form.get_by_label("Quiet from").fill(start)
    form.get_by_label("Quiet until").fill(end)
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text(f"Quiet from {start} to {end}, every day.")
    page.keyboard.press("Escape")
    expect(page.locator("segue-moon")).to_have_text(f"until {end}")
    assert server.call("GET", f"sessions/{key}")["quiet"] == {"from": start, "to": end, "days": "all"}
    page.reload()
    page.get_by_role("button", name=f"until {end}").click()
    expect(page.get_by_role("heading", name="Quiet hours")).to_be_in_viewport()
    page.get_by_role("button", name="Edit quiet hours").click()
    form.get_by_label("Keep quiet in these hours").uncheck()
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("No quiet hours.")
    page.keyboard.press("Escape")
    expect(page.locator("segue-moon")).to_be_hidden()
    wrong = server.session("websocket:wrong-quiet", title="Wrong", timezone=BERLIN)
    page.goto(server.at(wrong))
    expect(page.get_by_role("heading", name="Wrong")).to_be_visible()
    form = quiet_form(page)
    problem = form.locator(".problem").first
    form.get_by_label("Keep quiet in these hours").check()
    form.get_by_label("Quiet until").fill("22:00")
    expect(problem).to_have_text("The two times must differ.")
    form.get_by_label("Quiet until").fill("21:30")
    expect(problem).to_have_text("Quiet hours last at most 23 hours.")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Quiet hours last at most 23 hours.")
    form.get_by_label("Quiet until").fill("07:00")
    for day in form.locator(".weekday input").all():
        day.uncheck()
    expect(problem).to_have_text("Choose at least one day.")
    form.locator(".weekday input").first.check()
    expect(problem).to_be_empty()
    form.get_by_label("Reports of automations").select_option("are sent together after some hours")
    form.get_by_label("Hours after the first").fill("99")
    expect(problem).to_have_text("Write a number of hours from 0.25 to 24.")
    form.get_by_label("Reports of automations").select_option("are sent once a day")
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("Quiet from 22:00 to 07:00, Mon. Collected reports are sent at 08:00.")
    expect(page.get_by_text("It has no effect here")).to_be_visible()


def test_an_answer_that_waits_says_when_it_is_sent_and_can_be_sent_now(
    server: Served, open_page: Open
) -> None:
    key = server.session("pushing:1", timezone=BERLIN)
    start, end = around_now()
    server.call("PATCH", f"sessions/{key}", {"quiet": {"from": start, "to": end}})
    page = open_page(server.at(key))
    job = automation(server, key, "night watch", "every 1s", message="hello", policy={"quiet": "hold"})
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    held = page.locator("segue-held:not([hidden])")
    expect(held.first).to_contain_text(end)
    page.reload()
    expect(held.first).to_contain_text("will be sent")
    assert server.call("GET", f"sessions/{key}")["held"] > 0
    held.first.get_by_role("button", name="Send now").click()
    expect(held).to_have_count(0)
    assert server.call("GET", f"sessions/{key}")["held"] == 0


def test_an_automation_says_what_it_does_in_quiet_hours(server: Served, open_page: Open) -> None:
    key = server.session("websocket:quiet-policy", timezone=BERLIN)
    job = automation(server, key, "report", "0 9 * * *")
    page = open_page(server.at(key))
    form = editor(page, "report")
    form.get_by_label("In quiet hours").select_option("run, and send the answer when they end")
    form.get_by_label("Its answers").select_option("are collected for the digest")
    form.get_by_role("button", name="Save").click()
    told = job_of(page, "report").locator(".condition")
    expect(told).to_have_text(
        [
            "In quiet hours: run, and send the answer when they end",
            "Its answers are collected for the digest.",
        ]
    )
    assert (policy_of(server, job)["quiet"], policy_of(server, job)["tell"]) == ("hold", "digest")
    form = editor(page, "report")
    form.get_by_label("In quiet hours").select_option("what is usual for it")
    form.get_by_label("Its answers").select_option("are sent at once")
    form.get_by_role("button", name="Save").click()
    expect(told).to_have_count(0)
    assert (policy_of(server, job)["quiet"], policy_of(server, job)["tell"]) == (None, None)
