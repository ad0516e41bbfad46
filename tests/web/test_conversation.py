"""The conversation: streaming answers, rendering, tools, waiting turns, and every outcome."""

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_an_answer_streams_in_and_is_rendered_while_it_grows(server: Served, open_page: Open) -> None:
    page = open_page(server.at(server.session("websocket:stream")))
    write(page, "stream 60 30")
    text = page.locator("segue-turn .text")
    expect(text.locator("strong", has_text="b0")).to_be_visible()
    expect(page.locator("segue-turn.running")).to_be_visible()
    expect(page.locator("segue-turn.running")).to_have_count(0)
    expect(text.locator("strong")).to_have_count(7)
    said = re.findall(r"\bw\d+", text.inner_text())
    assert said == [f"w{number}" for number in range(60)]


def test_only_the_block_that_is_still_open_is_rendered_again(server: Served, open_page: Open) -> None:
    page = open_page(server.at(server.session("websocket:blocks")))
    rendered: list[str] = []
    page.on(
        "request", lambda asked: rendered.append(asked.post_data or "") if "markdown" in asked.url else None
    )
    write(page, "blocks")
    text = page.locator("segue-turn .text")
    expect(text.locator("em")).to_have_text("two")
    expect(text.locator("strong")).to_have_text("one")
    expect(text.locator("pre")).to_contain_text("Line")
    assert "one" not in rendered[-1]
    assert "code" not in rendered[-1]
    page.keyboard.press("Escape")


def test_markdown_is_shown_nothing_in_it_runs_and_thinking_is_folded(server: Served, open_page: Open) -> None:
    page = open_page(server.at(server.session("websocket:rich")))
    write(page, "rich")
    text = page.locator("segue-turn .text")
    expect(text.get_by_role("heading", name="Report")).to_be_visible()
    expect(text.get_by_role("cell", name="418")).to_be_visible()
    expect(text.locator("pre code")).to_contain_text('print("hello")')
    assert text.get_by_role("link", name="the log").get_attribute("rel") == "noopener noreferrer nofollow"
    expect(text.locator("script, img, a[href^=javascript]")).to_have_count(0)
    assert page.evaluate("window.harmed") is None
    write(page, "think")
    expect(page.locator("segue-turn .text").last).to_have_text("So be it.")
    expect(page.get_by_text("First this, then that.")).to_be_hidden()
    page.get_by_text("Thinking", exact=True).last.click()
    expect(page.get_by_text("First this, then that.")).to_be_visible()


def test_an_answer_that_its_channel_refused_is_marked(server: Served, open_page: Open) -> None:
    """While the page is open and after a reload; the note about it is not shown as a message."""
    key = server.session("refusing:1", title="Blocked")
    page = open_page(server.at(key))
    write(page, "hello")
    for _ in range(2):
        mark = page.locator("segue-turn .undelivered")
        expect(mark).to_contain_text("not delivered")
        expect(mark).to_be_visible()
        expect(page.locator("segue-note")).to_have_count(0)
        page.reload()
    answer = server.call("GET", f"sessions/{key}/messages")["messages"][1]
    assert (answer["content"], answer["delivery"]) == ("You said: hello", "failed")


def test_a_message_written_before_the_log_has_loaded_is_sent_after_subscribing(
    server: Served, open_page: Open
) -> None:
    """Thinking is not in the log: a page that sent before it subscribed would never show it."""
    key = server.session("websocket:early")
    page = open_page("about:blank")
    held: list[Route] = []
    sent: list[dict[str, Any]] = []
    page.route("**/log?*", lambda route: held.append(route))
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(json.loads(frame))))
    page.goto(server.at(key))
    write(page, "think")
    for route in held:
        route.continue_()
    expect(page.locator("segue-turn .text")).to_have_text("So be it.")
    page.get_by_text("Thinking", exact=True).click()
    expect(page.get_by_text("First this, then that.")).to_be_visible()
    assert [each["type"] for each in sent if each["session"] == key] == ["subscribe", "message"]


def test_a_tool_call_is_told_in_words_and_shows_its_arguments_and_result(
    server: Served, open_page: Open
) -> None:
    """Below it, a failure and an empty answer are one line each."""
    key = server.session("websocket:tool")
    for said in ("tool", "fail", "nothing"):
        server.say(key, said)
    page = open_page(server.at(key))
    card = page.locator("segue-tool")
    expect(card.locator("summary")).to_have_text("Read a filebuild.log")
    expect(card.get_by_text("build 418: ok")).to_be_hidden()
    expect(card.get_by_text("read_file")).to_be_hidden()
    card.locator("summary").click()
    expect(card.get_by_text("read_file")).to_be_visible()
    expect(card.get_by_text('"lines": 3')).to_be_visible()
    expect(card.get_by_text("14 ms")).to_be_visible()
    expect(card.get_by_text("build 418: ok")).to_be_visible()
    slim = page.locator("segue-turn.slim")
    expect(slim.first.locator(".outcome.error")).to_have_text("failed")
    expect(slim.last).to_contain_text("nothing to say")


def test_an_answer_can_be_stopped_and_what_waits_for_it_is_shown(server: Served, open_page: Open) -> None:
    """It keeps its text. Issue 8: `1 scheduled turn waits for this answer`."""
    key = server.session("websocket:queue")
    page = open_page(server.at(key))
    write(page, "hold")
    expect(page.locator("segue-turn .text")).to_contain_text("One moment")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("segue-turn .text")).to_contain_text("(stopped)")
    expect(page.locator("segue-turn .text")).to_contain_text("One moment")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    write(page, "hold")
    expect(page.locator("segue-turn.running .text")).to_contain_text("One moment")
    write(page, "and then this")
    expect(page.locator("segue-queue")).to_contain_text("and then this")
    expect(page.locator("segue-queue")).to_contain_text("waiting for this answer")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("segue-turn").last).to_contain_text("You said: and then this")
    expect(page.locator("segue-queue .row")).to_have_count(0)
    write(page, "hold")
    expect(page.locator("segue-turn.running .text")).to_contain_text("One moment")
    soon = {"name": "look", "message": "look around", "schedule": "every 1s", "policy": {"max_runs": 1}}
    server.call("POST", f"sessions/{key}/automations", soon)
    expect(page.get_by_text("1 scheduled turn waits for this answer")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("segue-turn.scheduled")).to_contain_text("You said: look around")
    expect(page.get_by_text("1 scheduled turn waits")).to_be_hidden()


def test_days_are_separated(server: Served, open_page: Open) -> None:
    key = server.session("websocket:separated-days")
    server.say(key, "hello")
    page = open_page(server.at(key), alone=True)
    expect(page.locator(".day")).to_have_text(["Today"])
    later = page.context.new_page()
    later.clock.install(time="2031-03-04T12:00:00Z")
    later.goto(server.at(key))
    expect(later.locator(".day")).to_contain_text([re.compile(r"\d{4}")])


def test_a_long_history_loads_in_pages_without_moving_what_is_read(server: Served, open_page: Open) -> None:
    """Issue 8: a 5,000-message session."""
    key = server.session("websocket:long", title="A long talk")
    server.write(key, 5000)
    page = open_page(server.at(key))
    expect(page.locator("segue-note", has_text="line 4999 ")).to_be_in_viewport()
    first = page.locator("segue-note").count()
    assert first < 500
    oldest = page.locator("segue-note").first
    words = oldest.locator(".prose").text_content() or ""
    page.locator(".scroll").evaluate("it => it.scrollTop = 0")
    expect(page.locator("segue-note")).not_to_have_count(first)
    expect(page.get_by_text(words.strip(), exact=True)).to_be_in_viewport()
    latest = page.get_by_role("button", name="Latest")
    expect(latest).to_be_visible()
    latest.click()
    expect(page.locator("segue-note", has_text="line 4999 ")).to_be_in_viewport()
    expect(latest).to_be_hidden()
