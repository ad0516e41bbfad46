"""The message field: keys, drafts, and the preview of a time."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def test_enter_sends_unless_it_breaks_the_line_or_ends_a_composed_word(
    server: Served, open_page: Open
) -> None:
    page = open_page(server.at(server.session("websocket:keys")))
    field = page.get_by_role("textbox", name="Message")
    field.fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(field).to_have_value("one\ntwo")
    page.keyboard.press("Enter")
    expect(field).to_have_value("")
    expect(page.locator("segue-turn .words")).to_contain_text("one")
    expect(page.locator("segue-turn .words br")).to_have_count(1)
    field.fill("你好")
    composed = (
        'new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })'
    )
    field.evaluate(f"it => it.dispatchEvent({composed})")
    expect(field).to_have_value("你好")
    page.keyboard.press("Enter")
    expect(field).to_have_value("")


def test_a_draft_survives_leaving_and_a_reload(server: Served, open_page: Open) -> None:
    one, two = (
        server.session("websocket:draft-1", title="First"),
        server.session("websocket:draft-2", title="Second"),
    )
    page = open_page(server.at(one))
    field = page.get_by_role("textbox", name="Message")
    field.fill("half a thought")
    page.goto(server.at(two))
    expect(page.get_by_role("heading", name="Second")).to_be_visible()
    expect(field).to_have_value("")
    page.goto(server.at(one))
    expect(field).to_have_value("half a thought")
    page.reload()
    expect(field).to_have_value("half a thought")


def test_a_time_is_previewed_and_marked_if_it_is_past_or_cannot_be_read(
    server: Served, open_page: Open
) -> None:
    """Issues 8 and 19: a preview of the resolved time before sending, or the verdict and no moment."""
    page = open_page(server.at(server.session("websocket:hint")))
    field, hint = page.get_by_role("textbox", name="Message"), page.locator("segue-hint")
    field.fill("remind me tomorrow at 9 to call Ana")
    expect(hint).to_contain_text("tomorrow at 9")
    expect(hint.locator("strong")).to_have_text(re.compile(r"09:00 Europe/Berlin$"))
    field.fill("every weekday at 17:30 ask me how it went")
    expect(hint).to_contain_text("every weekday at 17:30")
    expect(hint).to_contain_text("then")
    field.fill("what a nice day")
    expect(hint).to_be_hidden()
    field.fill("remind me on 2021-03-01 at 9 to call Ana")
    expect(hint).to_contain_text("already past")
    expect(hint.locator("strong")).to_contain_text("2021")
    field.fill("remind me today at 00:01 to go")
    expect(hint.locator("strong")).not_to_contain_text("2021")
    expect(hint).to_contain_text("already past")
    page.get_by_role("button", name="Tomorrow instead?").click()
    expect(field).to_have_value("remind me tomorrow at 00:01 to go")
    expect(hint).not_to_contain_text("already past")
    expect(hint.locator("strong")).to_contain_text("00:01")
    field.fill("remind me every friday at 9 until christmas to call Ana")
    expect(hint.locator(".phrase")).to_have_text("until christmas")
    expect(hint.locator("strong")).to_contain_text("not understood as a time")
    field.fill("remind me at half past 9 tomorrow")
    expect(hint.locator("strong")).to_contain_text("09:30 · 21:30")
    field.fill("remind me tomorrow at 9 to call Ana")
    expect(hint.locator("strong")).to_have_text(re.compile(r"09:00 Europe/Berlin$"))


def test_a_refused_message_returns_to_the_field(server: Served, open_page: Open) -> None:
    key = server.session("websocket:rejecting")
    server.call("PATCH", f"sessions/{key}", {"when_busy": "reject"})
    page = open_page(server.at(key))
    field = page.get_by_role("textbox", name="Message")
    field.fill("hold")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn.running")).to_be_visible()
    field.fill("one more thing")
    page.keyboard.press("Enter")
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(field).to_have_value("one more thing")
    page.keyboard.press("Escape")
