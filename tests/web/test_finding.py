"""Finding and keeping: search over messages, and export."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def long_talk(server: Served) -> str:
    """A word near the beginning of a long conversation."""
    key = server.session("websocket:search", title="Long talk")
    server.write(key, 10)
    server.say(key, "the violets grow behind the shed")
    server.write(key, 600)
    server.say(key, "今天的天气预报说会下雨")
    for query in ("violets", "天气预报"):
        path = f"messages/search?query={query}"
        if not query.isascii():
            path = "messages/search?query=%E5%A4%A9%E6%B0%94%E9%A2%84%E6%8A%A5"
        server.wait_for(path, lambda answer: answer["messages"])
    return key


def search(page: Page, words: str) -> None:
    page.get_by_role("searchbox", name="Search messages").fill(words)


def test_a_found_message_is_shown_in_its_chat_however_far_back(
    server: Served, open_page: Open, long_talk: str
) -> None:
    page = open_page(server.at(server.session("websocket:elsewhere", title="Elsewhere")))
    page.get_by_role("searchbox", name="Search chats").fill("viol")
    page.get_by_role("button", name="Search messages for “viol”").click()
    dialog = page.get_by_role("dialog", name="Search messages")
    result = dialog.get_by_role("button", name="the violets grow behind the shed").last
    expect(result).to_contain_text("Long talk")
    expect(result).to_contain_text("Today")
    expect(result.locator("mark").first).to_have_text("viol")
    result.click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", name="Long talk")).to_be_visible()
    turn = page.locator("segue-turn", has_text="the violets grow behind the shed")
    expect(turn).to_be_in_viewport()
    expect(turn).to_be_focused()


NOT_FOUND = [
    ("", "Write a word that was said, in any chat."),
    ("a", "One letter finds too much. Write at least two."),
    ("!?", "Write a word; punctuation is not searched."),
    ("xylophone", "No message has these words."),
]


def test_the_keyboard_searches_and_opens_what_was_found_or_the_search_says_what_to_write(
    server: Served, open_page: Open, long_talk: str, subtests: pytest.Subtests
) -> None:
    page = open_page(server.at(long_talk))
    expect(page.locator("segue-turn").last).to_be_visible()
    page.locator(".scroll").focus()
    page.keyboard.press("f")
    dialog = page.get_by_role("dialog", name="Search messages")
    for words, sentence in NOT_FOUND:
        with subtests.test(words):
            search(page, words)
            expect(dialog.get_by_role("status")).to_contain_text(sentence)
            expect(dialog.get_by_role("listitem")).to_have_count(0)
    with subtests.test("one character of Chinese is a word"):
        search(page, "雨")
        expect(dialog.locator("mark").first).to_have_text("雨")
    search(page, "天气预报")
    expect(dialog.locator("mark").first).to_have_text("天气预报")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(dialog.locator("li button").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("segue-turn", has_text="天气预报")).to_be_in_viewport()


def test_a_text_with_markup_is_shown_as_text(server: Served, open_page: Open) -> None:
    key = server.session("websocket:markup", title="<img src=x onerror=harmed()>")
    server.say(key, "quokka <img src=x onerror='window.harmed=true'> (a|b)[c]*")
    server.wait_for("messages/search?query=quokka", lambda answer: answer["messages"])
    page = open_page(server.at(key))
    expect(page.locator("segue-turn")).to_be_visible()
    page.locator(".scroll").focus()
    page.keyboard.press("f")
    search(page, "quokka img (a|b)[c]*")
    expect(page.get_by_role("dialog").locator("mark").first).to_have_text("quokka")
    assert page.locator("segue-search img").count() == 0
    assert page.evaluate("window.harmed") is None


def test_a_chat_is_exported_from_its_menu(server: Served, open_page: Open) -> None:
    key = server.session("websocket:export", title="Orchard")
    server.say(key, "plant the bulbs")
    page = open_page(server.at(key))
    for format_name, suffix, text in (("Markdown", "md", "# Orchard"), ("JSON", "jsonl", '"role": "user"')):
        page.get_by_label("More about this chat").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Export as {format_name}").click()
        assert download.value.suggested_filename.endswith(f".{suffix}")
        content = download.value.path().read_text("utf-8")
        assert text in content
        assert "plant the bulbs" in content
    expect(page.locator("segue-turn")).to_be_visible()
