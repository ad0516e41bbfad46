"""axe-core finds no violation in any state of the page, light and dark, wide and on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation, recall

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1440, "height": 900}}


def violations(page: Page, axe: str) -> list[str]:
    page.evaluate(f"() => {{ {axe} }}")
    found: list[Any] = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then((it) => it.violations)"
    )
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.fixture(scope="module")
def full(server: Served) -> str:
    """A conversation with everything in it."""
    key = server.session("websocket:axe", title="Everything", timezone="Europe/Berlin")
    for text in (
        "tool",
        "think",
        "document 0 0",
        "document 1 0",
        "document 2 0",
        "document 9 0",
        "fail",
        "nothing",
    ):
        server.say(key, text)
    server.call("POST", f"sessions/{key}/commit", {})
    server.say(key, "I live in Rome and I like tea. " * 60)
    job = automation(server, key, "fragile", "every 1s", message="fail")
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    automation(server, key, "daily monitor", "0 9 * * 1-5")
    recall(server, key, seconds=900, every=600)
    return key


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_desktop(
    server: Served, open_page: Open, axe: str, full: str, scheme: str
) -> None:
    page = open_page(server.at(full), color_scheme=scheme, reduced_motion="reduce", **DESKTOP)
    expect(page.locator("segue-month").first).to_be_visible()
    found = {"conversation": violations(page, axe)}
    page.get_by_label("More actions: fragile").click()
    found["menu"] = violations(page, axe)
    page.locator("segue-automation", has_text="fragile").get_by_role("button", name="Why?").click()
    expect(page.locator("segue-run .told")).not_to_be_empty()
    page.locator("segue-run summary").first.click()
    page.locator("segue-tool summary").first.click()
    found["details"] = violations(page, axe)
    page.get_by_role("button", name="Edit: daily monitor").click()
    page.get_by_role("button", name="Edit the memory settings").click()
    page.get_by_role("textbox", name="Message").fill("remind me today at 00:01 to go")
    expect(page.locator("segue-hint.passed")).to_be_visible()
    found["forms"] = violations(page, axe)
    page.get_by_role("button", name="Delete chat").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["delete"] = violations(page, axe)
    page.get_by_role("button", name="Cancel").last.click()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_visible()
    found["palette"] = violations(page, axe)
    page.keyboard.press("Escape")
    page.goto(server.at("websocket:axe-empty"))
    expect(page.locator("segue-empty")).to_be_visible()
    found["empty"] = violations(page, axe)
    assert "\n".join(f"{state}: {fault}" for state, faults in found.items() for fault in faults) == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_phone(
    server: Served, open_page: Open, axe: str, full: str, scheme: str
) -> None:
    page = open_page(server.at(full), color_scheme=scheme, reduced_motion="reduce", **PHONE)
    expect(page.locator("segue-ghost").first).to_be_visible()
    found = {"conversation": violations(page, axe)}
    page.get_by_role("button", name="Automations and memory").click()
    expect(page.get_by_role("heading", name="daily monitor")).to_be_in_viewport()
    found["panel"] = violations(page, axe)
    page.get_by_role("button", name="Close").first.click()
    page.get_by_role("button", name="Chats").click()
    expect(page.get_by_role("searchbox")).to_be_in_viewport()
    found["chats"] = violations(page, axe)
    assert "\n".join(f"{state}: {fault}" for state, faults in found.items() for fault in faults) == ""
