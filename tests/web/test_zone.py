"""Time zones: a session without one gets the browser's; times are read in the session's zone."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def test_a_session_without_a_zone_gets_the_browsers_when_its_user_writes_and_any_other_stays(
    server: Served, open_page: Open
) -> None:
    """Times are read in the session's own zone; an edited schedule in the browser's where it has none."""
    key = server.session("websocket:zone-none")
    page = open_page(server.at(key), timezone_id="Asia/Tokyo")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    assert server.call("GET", f"sessions/{key}")["timezone"] is None, "looking at it is not enough"
    page.get_by_role("textbox", name="Message").fill("hello")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .text")).to_contain_text("You said: hello")
    assert server.call("GET", f"sessions/{key}")["timezone"] == "Asia/Tokyo"
    key = server.session("websocket:zone-set", title="In Berlin", timezone="Europe/Berlin")
    page.goto(server.at(key))
    expect(page.get_by_role("heading", name="In Berlin")).to_be_visible()
    expect(page.locator("segue-empty")).to_be_visible()
    field = page.get_by_role("textbox", name="Message")
    expect(page.locator("segue-talk")).to_be_visible()
    field.fill("remind me on 2030-01-02 at 09:00 to call Ana")
    expect(page.locator("segue-hint strong")).to_have_text(re.compile(r"17:00 Asia/Tokyo$"))
    field.fill("hello")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .text")).to_contain_text("You said: hello")
    assert server.call("GET", f"sessions/{key}")["timezone"] == "Europe/Berlin"
    key = server.session("websocket:zone-edit")
    body = {"name": "monitor", "message": "Look.", "schedule": "every 2h"}
    made = server.call("POST", f"sessions/{key}/automations", body)["id"]
    page.goto(server.at(key))
    page.locator("segue-automation", has_text="monitor").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="When").fill("every weekday at 8")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("segue-automation", has_text="weekdays at 08:00")).to_be_visible()
    assert server.call("GET", f"automations/{made}")["schedule"]["tz"] == "Asia/Tokyo"
