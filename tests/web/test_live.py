"""The WebSocket: several pages at once, a killed server, a lost network."""

import re
import signal
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def words_of(page: Page) -> list[str]:
    return re.findall(r"\bw\d+", page.locator("segue-turn .text").last.inner_text())


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_two_tabs_show_the_same_words(server: Served, open_page: Open) -> None:
    key = server.session("websocket:tabs")
    one = open_page(server.at(key))
    two = open_page(server.at(key), context=one.context)
    write(one, "stream 40 40")
    expect(two.locator("segue-turn.running .text")).to_contain_text("w3")
    # The third page opens in the middle of the turn.
    three = open_page(server.at(key), context=one.context)
    wanted = [f"w{number}" for number in range(40)]
    for page in (one, two, three):
        expect(page.locator("segue-turn .text")).to_contain_text("w39")
        expect(page.locator("segue-turn.running")).to_have_count(0)
        assert words_of(page) == wanted
        expect(page.locator("segue-turn")).to_have_count(1)


def test_a_server_killed_during_an_answer_loses_and_doubles_nothing(
    own_server: Served, open_page: Open
) -> None:
    """Issue 8: server restarted in the middle of a stream."""
    key = own_server.session("websocket:restart")
    page = open_page(own_server.at(key))
    write(page, "stream 30 50")
    expect(page.locator("segue-turn .text")).to_contain_text("w9")
    own_server.end(signal.SIGKILL)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("still here?")
    page.keyboard.press("Enter")
    expect(page.locator("segue-queue")).to_contain_text("not sent yet")
    own_server.start()
    expect(page.get_by_text("Reconnecting…")).to_be_hidden()
    expect(page.locator("segue-turn")).to_have_count(2)
    first, second = page.locator("segue-turn").first, page.locator("segue-turn").last
    expect(second.locator(".text")).to_have_text("You said: still here?")
    expect(first.locator(".text")).to_contain_text("w29")
    said = re.findall(r"\bw\d+", first.locator(".text").inner_text())
    assert said == [f"w{number}" for number in range(30)]
    expect(page.locator("segue-queue .row")).to_have_count(0)


def test_a_message_written_offline_is_sent_once_when_the_network_is_back(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:offline")
    page = open_page(server.at(key), alone=True)
    expect(page.locator("segue-empty")).to_be_visible()
    page.context.set_offline(True)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    write(page, "written in a tunnel")
    expect(page.locator("segue-queue")).to_contain_text("written in a tunnel")
    server.say(key, "said in between")
    page.context.set_offline(False)
    expect(page.locator("segue-turn", has_text="You said: written in a tunnel")).to_have_count(1)
    expect(page.locator("segue-turn", has_text="You said: said in between")).to_have_count(1)
    expect(page.locator("segue-turn")).to_have_count(2)
    expect(page.locator("segue-queue .row")).to_have_count(0)
    said = server.call("GET", f"sessions/{key}/messages")["messages"]
    assert [message["content"] for message in said].count("written in a tunnel") == 1


def test_an_unreachable_server_is_shown_and_the_page_recovers(own_server: Served, open_page: Open) -> None:
    key = own_server.session("websocket:away", title="Away")
    own_server.say(key, "hello")
    page = open_page(own_server.at(key))
    expect(page.locator("segue-turn")).to_have_count(1)
    own_server.end(signal.SIGKILL)
    page.get_by_role("button", name="New chat").click()
    expect(page.locator("segue-turn")).to_have_count(0)  # before going back, the new chat must be open
    page.go_back()
    expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    own_server.start()
    expect(page.locator("segue-turn")).to_have_count(1)
    expect(page.get_by_text("The server cannot be reached.")).to_have_count(0)
