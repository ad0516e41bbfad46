"""axe-core finds no violation in any state of the page, light and dark, wide and on a phone."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.attached import give, png
from tests.web.conftest import Serve, Served
from tests.web.test_future import automation, recall
from tests.web.test_login import OPERATOR, address
from tests.web.test_quiet_hours import around_now

__all__ = ["address"]

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1440, "height": 900}}


# The list of chats links to fragments: axe takes those that are scrolled out of sight for skip links.
RULES = {
    "light": "rules: { 'skip-link': { enabled: false } }",
    # All that differs in dark, as `test_files.py` checks. Enhanced contrast is not asked for in light either.
    "dark": "runOnly: ['cat.color'], rules: { 'color-contrast-enhanced': { enabled: false } }",
}


def violations(page: Page, axe: str) -> list[str]:
    """In light and in dark. What the test has opened on the page stays open."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"() => {{ {axe} }}")
    return [f"{scheme}: {fault}" for scheme in RULES for fault in _violations_in(page, scheme)]


def _violations_in(page: Page, scheme: Any) -> list[str]:
    page.emulate_media(color_scheme=scheme)
    found: list[Any] = page.evaluate(
        f"axe.run(document, {{ resultTypes: ['violations'], {RULES[scheme]} }}).then((it) => it.violations)"
    )
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.fixture(scope="module")
def server(serve: Serve) -> Iterator[Served]:
    """With few chats: axe looks at every chat in the list, in every state of the page."""
    with serve() as served:
        yield served


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


def test_axe_finds_nothing_on_a_desktop(server: Served, open_page: Open, axe: str, full: str) -> None:
    page = open_page(server.at(full), reduced_motion="reduce", **DESKTOP)
    expect(page.locator("segue-month").first).to_be_visible()
    found = {"conversation": violations(page, axe)}
    page.get_by_label("More actions: fragile").click()
    found["menu"] = violations(page, axe)
    page.locator("segue-automation", has_text="fragile").get_by_role("button", name="Why?").click()
    expect(page.locator("segue-run .told")).not_to_be_empty()
    page.locator("segue-run summary").first.click()
    page.locator("segue-tool summary").first.click()
    page.get_by_role("button", name="Edit: daily monitor").click()
    page.get_by_role("button", name="Edit the memory settings").click()
    page.get_by_role("textbox", name="Message").fill("remind me today at 00:01 to go")
    expect(page.locator("segue-hint.passed")).to_be_visible()
    expect(page.locator("segue-run .told")).to_be_visible()
    found["details and forms"] = violations(page, axe)
    page.get_by_label("More about this chat").click()
    page.get_by_role("button", name="Delete chat").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["delete"] = violations(page, axe)
    page.get_by_role("button", name="Cancel").last.click()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find a chat or an action")).to_be_visible()
    found["palette"] = violations(page, axe)
    page.keyboard.press("Escape")
    page.goto(server.at("websocket:axe-empty"))
    expect(page.locator("segue-empty")).to_be_visible()
    found["empty"] = violations(page, axe)
    assert report(found) == ""


def report(found: dict[str, list[str]]) -> str:
    return "\n".join(f"{state}: {fault}" for state, faults in found.items() for fault in faults)


def test_axe_finds_nothing_at_a_question(server: Served, open_page: Open, axe: str) -> None:
    """Open with choices, answered, and over."""
    key = server.session("websocket:axe-question")
    server.say(key, "ask 1")
    server.say(key, "ask 3600")
    server.say(key, "yes")
    server.say(key, "ask 3600")
    for size in (DESKTOP, PHONE):
        page = open_page(server.at(key), reduced_motion="reduce", **size)
        expect(page.locator("segue-question.open")).to_be_visible()
        expect(page.locator("segue-question.answered").first).to_be_visible()
        assert report({"question": violations(page, axe)}) == ""


def test_axe_finds_nothing_at_files_versions_and_search(server: Served, open_page: Open, axe: str) -> None:
    key = server.session("websocket:axe-files", title="Files")
    first = server.say(key, "the flamingo is grey")["turn_id"]
    again = {"content": "the flamingo is pink", "replaces": first}
    server.call("POST", f"sessions/{key}/turns?wait=20", again)
    server.wait_for("messages/search?query=flamingo", lambda answer: answer["messages"])
    for size in (DESKTOP, PHONE):
        page = open_page(server.at(key), reduced_motion="reduce", **size)
        page.evaluate("customElements.whenDefined('segue-files').then(() => true)")
        page.get_by_text("Show the earlier version").click()
        expect(page.locator("segue-versions segue-turn")).to_be_visible()
        give(page, [("cat.png", "image/png", png()), ("notes.txt", "text/plain", b"x")])
        expect(page.locator("segue-files li")).to_have_count(2)
        expect(page.locator("segue-files progress")).to_have_count(0)
        page.get_by_role("button", name="Edit message").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("segue-rewrite textarea")).to_be_focused()
        found = {"tray and edit": violations(page, axe)}
        page.keyboard.press("Escape")
        page.get_by_role("textbox", name="Message").press("Enter")
        expect(page.locator("segue-turn .thumbnail img").last).to_have_js_property("naturalWidth", 240)
        expect(page.locator("segue-turn.running")).to_have_count(0)
        page.locator(".thumbnail").first.click()
        expect(page.get_by_role("dialog", name="cat.png")).to_be_visible()
        found["picture"] = violations(page, axe)
        page.keyboard.press("Escape")
        page.get_by_label("More about this chat").click()
        found["menu"] = violations(page, axe)
        page.keyboard.press("Escape")
        page.locator(".scroll").focus()
        page.keyboard.press("f")
        page.get_by_role("searchbox", name="Search messages").fill("flamingo")
        expect(page.get_by_role("dialog").locator("mark").first).to_be_visible()
        found["search"] = violations(page, axe)
        assert report(found) == ""


def test_axe_finds_nothing_at_conditions_usage_and_quiet_hours(
    server: Served, open_page: Open, axe: str
) -> None:
    key = server.session("pushing:axe", title="Quiet", timezone="Europe/Berlin")
    server.say(key, "spend 1200 0.02")
    start, end = around_now()
    server.call("PATCH", f"sessions/{key}", {"quiet": {"from": start, "to": end}})
    conditions = [{"if": "quiet", "for_seconds": 60}, {"if": "unsaid", "words": ["ok"], "since": "created"}]
    job = automation(server, key, "watch", "every 1s", policy={"quiet": "hold"})
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    automation(server, key, "look", "0 9 * * *", policy={"when": conditions})
    page = open_page(server.at(key), reduced_motion="reduce", **DESKTOP)
    expect(page.locator("segue-held:not([hidden])").first).to_be_visible()
    expect(page.locator("segue-moon")).to_be_visible()
    expect(page.locator("segue-used dd").first).to_be_visible()
    found = {"panel": violations(page, axe)}
    page.get_by_role("button", name="Edit: look").click()
    expect(page.locator("segue-conditions .condition")).to_have_count(2)
    found["conditions"] = violations(page, axe)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Edit quiet hours").click()
    found["quiet hours"] = violations(page, axe)
    assert report(found) == ""


def test_axe_finds_nothing_at_cards(offline_server: Served, open_page: Open, axe: str) -> None:
    server = offline_server
    key = server.session("websocket:axe-cards", timezone="Europe/Berlin")
    for text in (
        "every weekday at 9 tell me the news",
        "tell me tomorrow at 18:00 that the bakery closes soon",
        "check back tomorrow at 9 on https://example.org",
    ):
        server.say(key, text)
    page = open_page(server.at(key), reduced_motion="reduce", **DESKTOP)
    expect(page.locator("segue-card strong")).to_have_count(3)
    found = {"cards": violations(page, axe)}
    page.locator("segue-card").get_by_role("button", name="Cancel").first.click()
    expect(page.locator("segue-card .over")).to_have_count(1)
    found["toast"] = violations(page, axe)
    assert report(found) == ""


def test_axe_finds_nothing_in_a_running_turn_and_its_queue(server: Served, open_page: Open, axe: str) -> None:
    key = server.session("websocket:axe-running", timezone="Europe/Berlin")
    server.say_without_waiting(key, "hold")
    server.wait_for(f"sessions/{key}", lambda session: session["state"] == "running")
    server.say_without_waiting(key, "hello")
    page = open_page(server.at(key), reduced_motion="reduce", **DESKTOP)
    expect(page.locator("segue-turn.running")).to_be_visible()
    expect(page.locator("segue-queue .words")).to_be_visible()
    found = {"running": violations(page, axe)}
    page.get_by_role("searchbox").fill("no such chat")
    expect(page.get_by_text("Nothing found.")).to_be_visible()
    found["nothing found"] = violations(page, axe)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("segue-turn:not(.running)").last).to_be_visible()
    found["stopped"] = violations(page, axe)
    assert report(found) == ""


def test_axe_finds_nothing_when_the_server_fails(
    server: Served, open_page: Open, axe: str, full: str
) -> None:
    page = open_page("about:blank", alone=True, reduced_motion="reduce", **DESKTOP)
    problem = {"detail": "The database is being repaired.", "status": 503}
    page.route("**/log?*", lambda route: route.fulfill(status=503, json=problem))
    page.goto(server.at(full))
    expect(page.get_by_text("The database is being repaired.")).to_be_visible()
    found = {"failed": violations(page, axe)}
    page.context.set_offline(True)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    found["away"] = violations(page, axe)
    assert report(found) == ""


def test_axe_finds_nothing_on_the_login(address: str, open_page: Open, axe: str) -> None:
    for size in (DESKTOP, PHONE):
        page = open_page(address, reduced_motion="reduce", **size)
        field = page.get_by_label("Your key for this server")
        expect(field).to_be_focused()
        found = {"login": violations(page, axe)}
        field.fill("not this one")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("The server does not accept this key.")
        found["refused"] = violations(page, axe)
        assert report(found) == ""
    field.fill(OPERATOR)
    page.keyboard.press("Enter")
    expect(page.locator("segue-empty")).to_be_visible()
    page.get_by_role("button", name="Chats").click()
    expect(page.get_by_text("No chats yet.")).to_be_visible()
    assert report({"no chats": violations(page, axe)}) == ""


def test_axe_finds_nothing_on_a_phone(server: Served, open_page: Open, axe: str, full: str) -> None:
    for number in range(20):  # so that the list can be scrolled
        server.session(f"websocket:axe-{number}", title=f"Chat {number}")
    page = open_page(server.at(full), reduced_motion="reduce", **PHONE)
    expect(page.locator("segue-ghost").first).to_be_visible()
    found = {"conversation": violations(page, axe)}
    page.get_by_role("button", name="Automations and memory").click()
    expect(page.get_by_role("heading", name="daily monitor")).to_be_in_viewport()
    found["panel"] = violations(page, axe)
    page.get_by_role("button", name="Close").first.click()
    page.get_by_role("button", name="Chats").click()
    expect(page.get_by_role("searchbox")).to_be_in_viewport()
    expect(page.locator("segue-session").last).not_to_be_in_viewport()
    found["chats"] = violations(page, axe)
    assert report(found) == ""
