"""Replies on the page: chips under a job's message, and a message field that says which job is answered."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from segue.model.replies.controls import Control, read_control
from segue.model.replies.word_tables import Action
from tests.docs.pages import ROOT
from tests.web.conftest import Served
from tests.web.test_future import automation

Open = Callable[..., Page]


def test_a_job_is_answered_in_the_message_field_or_by_a_chip_without_a_turn(
    server: Served, open_page: Open
) -> None:
    """The message field says which job is answered; a chip does what it says."""
    key = server.session("websocket:replies", timezone="Europe/Berlin")
    soon = datetime.now(UTC) + timedelta(seconds=1)
    job = automation(server, key, "morning report", soon.isoformat())
    page = open_page(server.at(key))
    page.get_by_role("button", name="Reply to morning report").click()
    to = page.locator("segue-to")
    expect(to).to_have_text("to: morning report")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    to.get_by_role("button", name="Answer no message").click()
    expect(to).to_be_hidden()
    page.get_by_role("button", name="Reply to morning report").click()
    page.get_by_role("textbox", name="Message").fill("why?")
    page.keyboard.press("Enter")
    notes = page.locator("segue-note")
    expect(notes.last).to_contain_text("was due on")
    expect(to).to_be_hidden()
    expect(page.locator("segue-turn")).to_have_count(1)
    expect(notes).to_have_count(2)
    chips = page.locator("segue-turn segue-reply").get_by_role("button")
    expect(chips).to_have_text(["", "Snooze", "Skip", "Stop"])
    chips.and_(page.get_by_role("button", name="Snooze: morning report")).focus()
    page.keyboard.press("Enter")
    expect(notes.nth(2).locator(".words")).to_have_text("Snooze")
    expect(notes.last).to_contain_text("Snoozed: morning report runs once more")
    expect(notes.last.locator(".label")).to_contain_text("morning report")
    expect(page.locator("segue-turn")).to_have_count(1)
    expect(page.get_by_role("list", name="Coming up").get_by_role("listitem")).to_have_count(1)
    assert server.call("GET", f"automations/{job}")["enabled"] is True


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_the_words_of_the_chips_are_controls_in_each_language_of_the_page(language: str) -> None:
    words = (ROOT / "src/segue/server/web/words" / f"{language}.js").read_text()
    for name, action in (("snooze", Action.SNOOZE), ("skip", Action.SKIP), ("stop", Action.STOP)):
        word = words.split(f"reply_{name}: ", 1)[1].split('"')[1]
        assert read_control(word) == Control(action=action), word
