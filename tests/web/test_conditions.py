"""Conditions on the page: told in a sentence, edited, checked as they are written, and followed by ghosts."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation
from tests.web.test_panel import job_of

Open = Callable[..., Page]
LAST_RUN = {"if": "unanswered", "since": "last_run"}


def policy_of(server: Served, job: str) -> Any:
    return server.call("GET", f"automations/{job}")["policy"]


def editor(page: Page, name: str) -> Locator:
    job = job_of(page, name)
    job.get_by_role("button", name="Edit").click()
    return job.locator("segue-edit form")


def test_conditions_are_told_in_a_sentence(server: Served, open_page: Open) -> None:
    key = server.session("websocket:condition", timezone="Europe/Berlin")
    until_done = {"when": [{"if": "not_done"}], "otherwise": "end"}
    automation(server, key, "pills", "0 9 * * *", policy=until_done)
    several = [
        {"if": "quiet", "for_seconds": 7200},
        {"if": "unsaid", "words": ["go", "stop"], "since": "created"},
    ]
    automation(server, key, "look", "0 10 * * *", policy={"when": several})
    page = open_page(server.at(key))
    told = "only if you have not answered it with “done”; otherwise it ends"
    expect(job_of(page, "pills").locator(".condition")).to_have_text(told)
    both = "only if you have not written for 2 h and you have not said “go” or “stop” since it was made"
    expect(job_of(page, "look").locator(".condition")).to_have_text(both)
    for name, short in (("pills", "until done"), ("look", "with a condition")):
        expect(page.locator("segue-ghost", has_text=name).locator(".condition")).to_have_text(short)


def test_a_condition_is_added_changed_and_removed(server: Served, open_page: Open) -> None:
    key = server.session("websocket:edit-condition", timezone="Europe/Berlin")
    job = automation(server, key, "report", "0 9 * * *")
    page = open_page(server.at(key))
    form = editor(page, "report")
    expect(form.get_by_label("Otherwise")).to_be_hidden()
    form.get_by_role("button", name="Add a condition").click()
    form.get_by_label("Otherwise").select_option("end the automation")
    form.get_by_label("Ask whether to go on").fill("14")
    form.get_by_role("button", name="Save").click()
    line = job_of(page, "report").locator(".condition").first
    expect(line).to_have_text("only if you have not answered since its last report; otherwise it ends")
    found = policy_of(server, job)
    assert (found["when"], found["otherwise"], found["renew_after"]) == ([LAST_RUN], "end", 14)
    form = editor(page, "report")
    form.get_by_label("Condition", exact=True).select_option("you have not written for …")
    form.get_by_label("How long").fill("90")
    form.get_by_label("Unit").select_option("minutes")
    form.get_by_role("button", name="Save").click()
    expect(line).to_contain_text("you have not written for 1 h 30 min")
    assert policy_of(server, job)["when"] == [{"if": "quiet", "for_seconds": 5400}]
    form = editor(page, "report")
    form.get_by_role("button", name="Remove the condition").click()
    form.get_by_label("Ask whether to go on").fill("")
    form.get_by_role("button", name="Save").click()
    expect(line).to_have_count(0)
    assert policy_of(server, job).get("when") is None
    assert policy_of(server, job).get("renew_after") is None


def test_a_wrong_condition_is_said_while_it_is_written_and_not_saved(server: Served, open_page: Open) -> None:
    key = server.session("websocket:wrong-condition", timezone="Europe/Berlin")
    job = automation(server, key, "report", "0 9 * * *")
    automation(server, key, "build", "0 8 * * *")
    page = open_page(server.at(key))
    form = editor(page, "report")
    form.get_by_role("button", name="Add a condition").click()
    problem = form.locator("segue-conditions .problem")
    form.get_by_label("Condition", exact=True).select_option("you have not said … since it was made")
    expect(problem).to_have_text("Write 1 to 10 words, with commas between them.")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Write 1 to 10 words, with commas between them.")
    form.get_by_label("Words, with commas between them").fill("fertig, ok")
    expect(problem).to_be_empty()
    form.get_by_label("Condition", exact=True).select_option("someone has written within …")
    form.get_by_label("How long").fill("-3")
    expect(problem).to_have_text("Write a length from 1 minute to 366 days.")
    assert policy_of(server, job).get("when") is None
    form.get_by_label("Condition", exact=True).select_option("“…” ended within … as: …")
    form.get_by_label("Outcome").select_option("failed")
    expect(problem).to_be_empty()
    form.get_by_role("button", name="Save").click()
    line = job_of(page, "report").locator(".condition").first
    expect(line).to_have_text("only if “build” ended last as: failed")


def test_a_ghost_goes_out_when_it_is_answered(server: Served, open_page: Open) -> None:
    key = server.session("websocket:ghost-answered", timezone="Europe/Berlin")
    server.say(key, "hello")
    automation(server, key, "bank", "0 9 * * *", policy={"when": [{"if": "unanswered", "since": "created"}]})
    automation(server, key, "other", "0 10 * * *")
    page = open_page(server.at(key))
    ghosts = page.locator("segue-ghost")
    expect(ghosts.filter(has_text="bank")).to_contain_text("unless answered")
    page.get_by_role("textbox", name="Message").fill("I was there")
    page.keyboard.press("Enter")
    expect(ghosts.filter(has_text="bank")).to_have_count(0)
    expect(ghosts.filter(has_text="other")).to_be_visible()
    told = job_of(page, "bank").locator(".condition")
    expect(told).to_contain_text("As things are, the next run is left out.")
    assert page.locator("segue-toasts").inner_text() == ""
