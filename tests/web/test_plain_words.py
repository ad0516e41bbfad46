"""People's words instead of machine text: confirmations, tools, forms, failures and dialogs."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation, recall

Open = Callable[..., Page]
MACHINE_TEXT = re.compile(r"[0-9a-f]{16,}|\d{4}-\d\d-\d\dT|[+-]\d\d:\d\d\b|\* \* ")
"""Ids, ISO times, offsets and cron lines."""


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_a_scheduled_job_is_confirmed_by_a_card(offline_server: Served, open_page: Open) -> None:
    page = open_page(offline_server.at(offline_server.session("websocket:card", timezone="Europe/Berlin")))
    write(page, "every weekday at 9 tell me what changed since yesterday")
    card = page.locator("segue-card")
    expect(card.locator("strong")).to_have_text("weekdays at 09:00")
    expect(card).to_contain_text("tell me what changed since yesterday")
    expect(card.locator(".chip")).to_have_count(3)
    expect(card.get_by_role("button")).to_have_text(["Edit", "Pause", "Undo"])
    card.get_by_role("button", name="Pause").click()
    expect(card.locator(".status")).to_have_text("paused")
    card.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("textbox", name="When")).to_have_value("every weekday at 09:00")
    card.get_by_role("button", name="Undo").click()
    expect(card).to_have_text("No longer scheduled.")


def test_a_recall_is_confirmed_by_a_card(offline_server: Served, open_page: Open) -> None:
    """It can be cancelled, but not changed: the agent sets another one. And the card of a message that
    was sent says so."""
    key = offline_server.session("websocket:recall-card", timezone="Europe/Berlin")
    page = open_page(offline_server.at(key))
    write(page, "check back tomorrow at 9 on https://example.org")
    card = page.locator("segue-card")
    expect(card.locator("strong")).to_contain_text("09:00")
    expect(card.get_by_role("button")).to_have_text(["Cancel"])
    assert MACHINE_TEXT.search(card.inner_text()) is None
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_text("No longer scheduled.")
    page.get_by_role("button", name="Undo").click()
    # The banner is for recalls of the next 24 hours, and tomorrow at 9 may be later.
    expect(page.locator("segue-recall:not([hidden]), segue-ghost").first).to_be_visible()
    write(page, "tell me in 2 seconds that the tea is ready")
    expect(page.locator("segue-note")).to_contain_text("The tea is ready")
    expect(page.locator("segue-card").last).to_have_text("Done.")


def test_a_recurring_recall_is_confirmed_by_a_card(server: Served, open_page: Open) -> None:
    """Its interval, the next three times, and what can be done: skip the next time, or cancel it."""
    key = server.session("websocket:recurring-card", timezone="Europe/Berlin")
    page = open_page(server.at(key))
    write(page, "recall every 36000")
    card = page.locator("segue-card")
    expect(card.locator("strong")).to_have_text("every 10 h")
    expect(card.locator(".of")).to_have_text("read build.log")
    expect(card.locator("time")).to_have_count(3)
    expect(card.get_by_role("button")).to_have_text(["Skip", "Cancel"])
    assert MACHINE_TEXT.search(card.inner_text()) is None
    first, second = (time.get_attribute("title") for time in card.locator("time").all()[:2])
    card.get_by_role("button", name="Skip").click()
    expect(card.locator("time").first).to_have_attribute("title", second or "")
    assert first != second
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_text("No longer scheduled.")
    page.get_by_role("button", name="Undo").last.click()
    again = server.wait_for(f"sessions/{key}/recall", lambda found: found["recall"] is not None)
    assert again["recall"]["interval_seconds"] == 36_000
    expect(page.locator("segue-recall")).to_contain_text("read build.log")


def test_a_scheduled_message_is_confirmed_by_a_card_and_no_machine_text_is_in_the_open(
    offline_server: Served, open_page: Open
) -> None:
    key = offline_server.session("websocket:message-card", timezone="Europe/Berlin")
    page = open_page(offline_server.at(key))
    write(page, "every weekday at 9 tell me the news")
    expect(page.locator("segue-card strong")).to_have_count(1)
    write(page, "tell me tomorrow at 18:00 that the bakery closes soon")
    expect(page.locator("segue-card strong")).to_have_count(2)
    expect(page.locator("segue-turn.running")).to_have_count(0)
    expect(page.locator("segue-ghost")).to_have_count(2)
    shown = page.locator("segue-app").inner_text()
    assert MACHINE_TEXT.findall(shown.replace("Europe/Berlin", "")) == []
    card = page.locator("segue-card").last
    expect(card.locator("strong")).to_contain_text("18:00")
    expect(card).to_contain_text("“The bakery closes soon”")
    expect(card.get_by_role("button")).to_have_text(["Cancel"])
    assert MACHINE_TEXT.search(card.inner_text()) is None
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_have_text("No longer scheduled.")
    expect(page.locator("segue-ghost")).to_have_count(1)


def test_the_edit_form_shows_words_and_previews_what_is_typed(server: Served, open_page: Open) -> None:
    key = server.session("websocket:edit-words", timezone="Europe/Berlin")
    written = {
        "0 9 * * 1-5": "every weekday at 09:00",
        "30 8 * * 1,4": "every Monday and Thursday at 08:30",
        "0 7 * * *": "every day at 07:00",
        "0 9 2 * *": "every month on the 2nd at 09:00",
        "every 2h": "every 2 hours",
        "15 9,17 * * *": "15 9,17 * * *",
        "every other friday at 9": "every 2 weeks on Friday at 09:00",
        "every 3 days at 9": "every 3 days at 09:00",
        "first monday of the month at 8": "every first Monday of the month at 08:00",
    }
    rewritten = {"0 9 * * 1-5", "every 2h", "15 9,17 * * *", "every 3 days at 9"}  # one of each kind
    for number, schedule in enumerate(written):
        automation(server, key, f"job {number}", schedule)
    page = open_page(server.at(key))
    for number, (schedule, words) in enumerate(written.items()):
        page.get_by_role("button", name=f"Edit: job {number}").click()
        form = page.locator("segue-automation", has_text=f"job {number}").locator("form")
        expect(form.get_by_role("textbox", name="When")).to_have_value(words)
        expect(form.locator("segue-hint strong")).to_contain_text(re.compile(r"\d\d:\d\d"))
        if schedule in rewritten:
            form.get_by_role("textbox", name="When").fill("every tuesday at 6:45")
            expect(form.locator("segue-hint strong")).to_contain_text("06:45")
            form.get_by_role("textbox", name="When").fill("whenever it suits at 9 or 10")
            expect(form.locator("segue-hint")).to_contain_text("nothing will be scheduled")
        form.get_by_role("button", name="Cancel").click()


def test_a_schedule_without_words_is_kept_unless_another_is_written(server: Served, open_page: Open) -> None:
    key = server.session("websocket:rule", timezone="Europe/Berlin")
    job = automation(server, key, "twice a day", "every weekday at 8:30 and 17:15")
    page = open_page(server.at(key))
    expect(page.locator("segue-automation")).to_contain_text("by a rule of its own", ignore_case=True)
    page.get_by_role("button", name="Edit: twice a day").click()
    expect(page.get_by_role("textbox", name="When")).to_have_value("")
    page.get_by_label("Name").fill("twice a weekday")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="twice a weekday")).to_be_visible()
    assert server.call("GET", f"automations/{job}")["schedule"]["kind"] == "rrule"


def test_a_failure_is_one_sentence_with_its_details_behind_a_click(server: Served, open_page: Open) -> None:
    key = server.session("websocket:failure", timezone="Europe/Berlin")
    job = automation(server, key, "fragile", "every 1s", message="fail", policy={"max_runs": 1})
    server.wait_for(f"automations/{job}/runs", lambda answer: bool(answer["runs"][:1]))
    page = open_page(server.at(key), permissions=["clipboard-read", "clipboard-write"])
    page.locator("segue-turn.failed").first.get_by_role("button", name="Why?").click()
    run = page.locator("segue-run")
    expect(run.locator(".sentence")).to_be_visible()
    expect(run.locator(".told")).to_contain_text("It ended as error")
    assert "RuntimeError" not in run.inner_text()
    run.get_by_text("Details").click()
    expect(run.locator("pre").first).to_contain_text("RuntimeError: the model fell over")
    run.get_by_role("button", name="Copy").first.click()
    assert "RuntimeError: the model fell over" in page.evaluate("navigator.clipboard.readText()")


def test_deleting_counts_archived_messages_and_names_what_is_pending(server: Served, open_page: Open) -> None:
    key = server.session("websocket:delete-all", title="Everything")
    server.write(key, 6)
    server.call("POST", f"sessions/{key}/commit", {})
    server.write(key, 2)
    recall(server, key, seconds=900)
    page = open_page(server.at(key))
    page.get_by_label("More about this chat").click()
    page.get_by_role("button", name="Delete chat").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its 8 messages will be deleted permanently.")
    expect(dialog).to_contain_text("read build.log")
    expect(dialog.get_by_role("button")).to_have_text(["Cancel", "Delete"])
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()


def test_a_long_message_is_folded(server: Served, open_page: Open) -> None:
    key = server.session("websocket:long-message")
    server.say(key, "A long story. " * 300)
    page = open_page(server.at(key))
    words = page.locator("segue-turn .words")
    folded = words.evaluate("(it) => it.offsetHeight")
    page.get_by_role("button", name="Show more").click()
    assert words.evaluate("(it) => it.offsetHeight") > 2 * folded
    page.get_by_role("button", name="Show less").click()
    assert words.evaluate("(it) => it.offsetHeight") == folded
