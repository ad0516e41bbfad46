"""The calendar address of a conversation, on the page: made, copied, replaced and revoked."""

import urllib.error
import urllib.request
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def open_dialog(page: Page) -> None:
    page.get_by_label("More about this chat").click()
    page.get_by_role("button", name="Calendar address").click()
    expect(page.get_by_role("dialog", name="Calendar address")).to_be_visible()


def test_an_address_is_made_copied_replaced_and_revoked(server: Served, open_page: Open) -> None:
    key = server.session("websocket:calendar", title="Orchard")
    server.say(key, "plant the bulbs")
    page = open_page(server.at(key), permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector("segue-calendar", state="attached")
    open_dialog(page)
    field = page.get_by_role("textbox", name="Calendar address")
    expect(field).to_be_hidden()
    expect(page.get_by_role("button", name="Revoke")).to_be_hidden()
    page.get_by_role("button", name="Make an address").click()
    expect(field).to_be_visible()
    first = field.input_value()
    assert status_of(first) == 200
    page.get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_function("async (url) => (await navigator.clipboard.readText()) === url", arg=first)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    open_dialog(page)
    expect(field).to_be_hidden()
    page.get_by_role("button", name="Make a new address").click()
    expect(field).to_be_visible()
    second = field.input_value()
    assert [status_of(first), status_of(second)] == [404, 200]
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Make an address")).to_be_visible()
    assert status_of(second) == 404
