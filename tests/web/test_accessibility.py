"""Accessibility: keyboard only, screen reader, phone, dark mode, Chinese, reduced motion, missing routes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.docs.pages import ROOT
from tests.web.conftest import Served
from tests.web.test_future import automation, recall

Open = Callable[..., Page]

CHECKS = (ROOT / "tests" / "web" / "accessibility.js").read_text("utf-8")


def faults(page: Page) -> list[str]:
    """In light and in dark. What the test has opened on the page stays open."""
    return [f"{scheme}: {fault}" for scheme in ("light", "dark") for fault in _faults_in(page, scheme)]


def _faults_in(page: Page, scheme: Any) -> list[str]:
    page.emulate_media(color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(21, 23, 22)") == (scheme == "dark")
    result: list[str] = page.evaluate(CHECKS)
    return result


@pytest.fixture(scope="module")
def busy(server: Served) -> str:
    """A conversation with entries of every kind."""
    key = server.session("websocket:everything", title="Everything", timezone="Europe/Berlin")
    for said in ("rich", "tool", "think", "fail", "nothing"):
        server.say(key, said)
    automation(server, key, "daily monitor", "0 9 * * 1-5")
    paused = automation(server, key, "resting", "0 10 * * *")
    server.call("POST", f"automations/{paused}/skip")
    server.call("POST", f"automations/{paused}/pause")
    recall(server, key, seconds=900, every=600)
    return key


@pytest.mark.parametrize("width", [1360, 390])
def test_everything_has_a_name_a_role_and_enough_contrast(
    server: Served, open_page: Open, busy: str, width: int
) -> None:
    """Issue 8: accessibility checks clean. And every control can be reached with Tab."""
    size = {"width": width, "height": 860}
    page = open_page(server.at(busy), reduced_motion="reduce", viewport=size)
    expect(page.locator("segue-ghost")).to_have_count(1)
    if width > 760:
        check_tab_order(page)
    page.get_by_role("textbox", name="Message").fill("remind me tomorrow at 9")
    expect(page.locator("segue-hint")).to_be_visible()
    for card in page.locator("segue-tool summary").all():
        card.click()
    assert faults(page) == []
    if width < 760:
        page.get_by_role("button", name="Automations and memory").click()
        expect(page.get_by_role("complementary")).to_be_in_viewport(ratio=0.5)
    page.get_by_role("button", name="Edit: daily monitor").click()
    page.locator(".mark.skipped").click()
    assert faults(page) == []
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults(page) == []


def check_tab_order(page: Page) -> None:
    wanted = {"New chat", "Skip: daily monitor", "Pause: daily monitor", "Edit: daily monitor", "Send"}
    names: list[str] = []
    page.get_by_role("textbox", name="Message").fill("x")
    for _ in range(120):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent ?? ''")
        )
    assert wanted <= set(names)


def test_the_page_can_be_used_by_keyboard_alone(server: Served, open_page: Open) -> None:
    server.session("websocket:key-1", title="Alpha of keys")
    key = server.session("websocket:key-2", title="Beta of keys")
    page = open_page(server.at(key))
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.type("hold")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn.running")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("segue-turn.running")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("alpha of k")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Alpha of keys")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("delete")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The chat was deleted.")).to_be_visible()


def test_j_and_k_select_a_chat_and_slash_focuses_the_field(own_server: Served, open_page: Open) -> None:
    for name in ("one", "two", "three"):
        own_server.say(own_server.session(f"websocket:{name}", title=name), "hello")
    page = open_page(own_server.at("websocket:three"))
    expect(page.locator("segue-session")).to_have_count(3)
    expect(page.locator("segue-talk.loading")).to_have_count(0)
    page.locator(".scroll").focus()
    for press, name in (("j", "two"), ("j", "one"), ("j", "one"), ("k", "two")):
        page.keyboard.press(press)
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        expect(page.locator("segue-talk.loading")).to_have_count(0)
        page.locator(".scroll").focus()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")


def test_on_a_phone_the_sidebar_and_the_panel_are_sheets(server: Served, open_page: Open, busy: str) -> None:
    page = open_page(server.at(busy), viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    expect(page.locator("segue-ghost")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.get_by_role("searchbox")).not_to_be_in_viewport()
    page.get_by_role("button", name="Chats").click()
    expect(page.get_by_role("searchbox")).to_be_in_viewport()
    page.locator(".veil").click(position={"x": 380, "y": 400})
    expect(page.get_by_role("searchbox")).not_to_be_in_viewport()
    page.get_by_role("button", name="Automations and memory").click()
    expect(page.get_by_role("heading", name="daily monitor")).to_be_in_viewport()
    page.get_by_role("button", name="Close").first.click()
    expect(page.get_by_role("heading", name="daily monitor")).not_to_be_in_viewport()


def test_reduced_motion_turns_animations_off(server: Served, open_page: Open) -> None:
    key = server.session("websocket:still")
    page = open_page(server.at(key), reduced_motion="reduce")
    expect(page.locator("segue-empty")).to_be_visible()
    recall(server, key, seconds=3)
    expect(page.locator("segue-recall .banner")).to_be_visible()
    page.evaluate(
        """() => new MutationObserver(() => {
            const running = document.getAnimations().filter((each) => each.effect?.getTiming().duration > 0);
            if (running.length) window.moved = true;
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    expect(page.locator("segue-turn.scheduled")).to_be_visible()
    expect(page.locator("segue-turn.running")).to_have_count(0)
    assert page.evaluate("window.moved") is None


def test_the_page_is_in_chinese_for_a_chinese_browser(server: Served, open_page: Open, busy: str) -> None:
    page = open_page(server.at(busy), locale="zh-CN")
    expect(page.get_by_role("button", name="新对话")).to_be_visible()
    expect(page.get_by_role("heading", name="自动任务")).to_be_visible()
    expect(page.locator("segue-ghost", has_text="自动任务")).to_be_visible()
    expect(page.locator("segue-automation").last).to_contain_text("工作日 09:00")
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    key = server.session("websocket:conditions-zh", timezone="Europe/Berlin")
    unanswered = {"when": [{"if": "unanswered", "since": "last_run"}]}
    automation(server, key, "bericht", "0 9 * * *", policy=unanswered)
    page.goto(server.at(key))
    expect(page.locator("segue-automation .condition")).to_have_text("仅当自上次报告以来无人回复")
    page.keyboard.press("Control+k")
    page.keyboard.type("English")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="New chat")).to_be_visible()


def test_a_server_without_a_route_shows_no_panel_for_it(server: Served, open_page: Open) -> None:
    key = server.session("websocket:bare")
    page = open_page("about:blank")
    answer = {"type": "", "title": "", "status": 404, "detail": "Not Found", "code": "not_found"}
    for missing in ("automations", "archives", "recall", "scheduled-messages", "memories"):
        page.route(re.compile(rf"/{missing}\b"), lambda route: route.fulfill(status=404, json=answer))
    page.goto(server.at(key))
    expect(page.locator("segue-empty")).to_be_visible()
    for part in ("segue-automations", "segue-messages", "segue-memory", "segue-recall", "segue-future"):
        expect(page.locator(part)).to_be_hidden()
