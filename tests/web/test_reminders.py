"""Reminders: any number in a chat, and the preview shows what will be scheduled."""

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn:not(.running) .text").last).to_be_visible()


def test_a_chat_has_any_number_of_reminders(offline_server: Served, open_page: Open) -> None:
    key = offline_server.session("websocket:reminders", timezone="Europe/Berlin")
    page = open_page(offline_server.at(key))
    for number, text in enumerate(("take the pizza out", "call Ana", "leave"), 1):
        write(page, f"remind me in {number}0 minutes to {text}")
        expect(page.locator("segue-ghost")).to_have_count(number)
        expect(page.locator("segue-card").nth(number - 1)).to_contain_text(text)
    expect(page.locator("segue-ghost .of")).to_have_text(["take the pizza out", "call Ana", "leave"])


SCHEDULED = [
    "remind me tomorrow at 9 to call Ana",
    "remind me in 45 minutes to stretch",
    "every weekday at 9 tell me what changed",
    "check back every 2 hours on the build until it is green",
    "tell me tomorrow at 18:00 that the bakery closes soon",
]


def test_what_the_preview_shows_is_what_is_scheduled(
    offline_server: Served, open_page: Open, subtests: pytest.Subtests
) -> None:
    server = offline_server
    page = open_page(server.url)
    for text in SCHEDULED:
        with subtests.test(text):
            visit(page, server, text)
            page.get_by_role("textbox", name="Message").fill(text)
            shown = page.locator("segue-hint strong")
            expect(shown).to_be_visible()
            assert "false" not in page.locator("segue-hint").inner_text()
            previewed = shown.inner_text().removesuffix(" Europe/Berlin")
            page.keyboard.press("Enter")
            ghost = page.locator("segue-ghost time")
            expect(ghost).to_be_visible()
            moment = datetime.fromisoformat(ghost.get_attribute("datetime") or "")
            assert minutes_between(previewed, moment.astimezone(ZoneInfo("Europe/Berlin"))) <= 1


def visit(page: Page, server: Served, title: str) -> str:
    """Show an empty chat with this title."""
    key = server.session(f"websocket:{title.replace(' ', '-')}", title=title, timezone="Europe/Berlin")
    page.goto(server.at(key))
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.locator("segue-empty")).to_be_visible()
    expect(page.locator("segue-ghost")).to_have_count(0)
    return key


def minutes_between(previewed: str, at: datetime) -> float:
    """A relative time is read again when the message is sent, so it may differ by the time between."""
    shown = datetime.strptime(f"{previewed} {at.year}", "%a, %b %d, %H:%M %Y").replace(tzinfo=at.tzinfo)
    return abs((at - shown).total_seconds()) / 60


NOT_SCHEDULED = [
    "every morning at 7 and every evening at 8 tell me the weather",
    "remind me next friday afternoon to call mom",
    "remind me tomorrow around 9 to call Ana",
]


def test_what_cannot_be_scheduled_is_said_before_enter(
    offline_server: Served, open_page: Open, subtests: pytest.Subtests
) -> None:
    server = offline_server
    page = open_page(server.url)
    for text in NOT_SCHEDULED:
        with subtests.test(text):
            key = visit(page, server, text)
            page.get_by_role("textbox", name="Message").fill(text)
            expect(page.locator("segue-hint")).to_contain_text("nothing will be scheduled")
            write(page, text)
            assert server.call("GET", f"sessions/{key}/automations")["jobs"] == []
            expect(page.locator("segue-turn .text")).to_contain_text("I scheduled nothing")
