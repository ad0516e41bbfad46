"""A question that the agent waits on is a card: its choices, until when it waits, and what waits with it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_a_question_is_a_card_whose_choice_answers_as_the_user_and_leaves_the_question(
    server: Served, open_page: Open
) -> None:
    """An answer may also be written."""
    page = open_page(server.at(server.session("websocket:asked")))
    write(page, "ask 3600")
    card = page.get_by_role("group", name="Pay 120 € to Ana?")
    expect(card.get_by_role("button")).to_have_text(["Yes, pay it", "Not now"])
    expect(card).to_contain_text("Segue waits until")
    expect(card).to_contain_text("Scheduled turns wait as well.")
    expect(page.locator("segue-turn .text")).to_have_text("The invoice is ready.")
    expect(page.locator("segue-past").get_by_text("120 €")).to_have_count(1)
    expect(page.locator("segue-header .state")).to_have_text("waiting for your answer")
    expect(page.locator(".offscreen[aria-live]")).to_contain_text("Segue asks: Pay **120 €** to Ana?")
    page.get_by_role("button", name="Yes, pay it").focus()
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn").last.locator(".words")).to_have_text("Yes, pay it")
    expect(page.locator("segue-turn").last.locator(".text")).to_have_text("You said: Yes, pay it")
    question = page.locator("segue-question")
    expect(question).to_have_text("Pay 120 € to Ana?")
    expect(question.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.reload()
    expect(question).to_have_text("Pay 120 € to Ana?")
    expect(page.locator("segue-header .state")).to_have_text("")
    write(page, "ask")
    question = page.get_by_role("group", name="Which day suits you?")
    expect(question).to_contain_text("Segue waits until")
    expect(question.get_by_role("button")).to_have_count(0)
    write(page, "Friday")
    expect(page.locator("segue-turn").last.locator(".text")).to_have_text("You said: Friday")
    expect(question).to_have_text("Which day suits you?")


def test_a_question_survives_a_reload_and_counts_what_it_holds(server: Served, open_page: Open) -> None:
    key = server.session("websocket:held-by-a-question", timezone="Europe/Berlin")
    server.say(key, "ask 3600")
    job = automation(server, key, "every second", "every 1s")
    page = open_page(server.at(key))
    card = page.get_by_role("group", name="Pay 120 € to Ana?")
    expect(card).to_contain_text("1 scheduled turn waits as well.")
    expect(card.get_by_role("button", name="Not now")).to_be_enabled()
    page.reload()
    card.get_by_role("button", name="Not now").click()
    expect(page.locator("segue-turn .words").last).to_have_text("Not now")
    expect(page.locator("segue-turn.scheduled").first).to_be_visible()
    server.call("POST", f"automations/{job}/pause")  # or it would run until the last test


def test_a_question_ends_when_its_time_is_over(server: Served, open_page: Open) -> None:
    key = server.session("websocket:too-late")
    server.say(key, "ask 5")
    page = open_page(server.at(key))
    question = page.locator("segue-question")
    expect(question).to_contain_text("Not answered by")
    expect(question.get_by_role("button")).to_have_count(0)
    expect(page.locator("segue-header .state")).to_have_text("")


@pytest.mark.parametrize(
    ("locale", "words"),
    [("de-DE", "Geplante Läufe warten ebenfalls."), ("zh-CN", "定时回合也会等待。")],
)
def test_a_question_speaks_the_language_of_the_page(
    server: Served, open_page: Open, locale: str, words: str
) -> None:
    key = server.session(f"websocket:asked-{locale}")
    server.say(key, "ask 3600")
    page = open_page(server.at(key), locale=locale, **PHONE)
    card = page.locator("segue-question")
    expect(card).to_contain_text(words)
    box = card.get_by_role("button").first.bounding_box()
    assert box
    assert box["height"] >= 43.5
