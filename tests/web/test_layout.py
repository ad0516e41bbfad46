"""Layout: nothing jumps or covers anything, one left edge, readable widths, and targets for fingers."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation, recall

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
    }).observe({ type: "layout-shift", buffered: true });
}"""
MOST_SHIFT = 0.02


@pytest.fixture(scope="module")
def full(server: Served) -> str:
    key = server.session("websocket:layout", title="Layout", timezone="Europe/Berlin")
    for text in ("tool", "document 0 0", "document 1 0", "hello"):
        server.say(key, text)
    automation(server, key, "daily monitor", "0 9 * * 1-5")
    recall(server, key, seconds=900, every=600)
    return key


@pytest.mark.parametrize("width", [390, 1440, 1920])
def test_loading_shifts_nothing(server: Served, open_page: Open, full: str, width: int) -> None:
    page = open_page("about:blank", alone=True, viewport={"width": width, "height": 900})
    page.add_init_script(f"({SHIFTS})()")
    page.goto(server.at(full))
    expect(page.locator("segue-ghost")).to_have_count(1)
    page.wait_for_selector("segue-palette:defined", state="attached")
    page.wait_for_load_state("networkidle")
    assert sum(page.evaluate("window.shifts")) <= MOST_SHIFT


def test_the_first_answer_opens_no_panel(server: Served, open_page: Open) -> None:
    """The columns have the same widths before and after."""
    page = open_page(server.at("websocket:first-answer"), viewport={"width": 1440, "height": 900})
    main = page.locator("main")
    expect(page.locator("segue-empty")).to_be_visible()
    before = main.bounding_box()
    page.get_by_role("textbox", name="Message").fill("hello")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .text")).to_have_text("You said: hello")
    assert main.bounding_box() == before


@pytest.mark.parametrize("widths", [[1440, 1920], [390]], ids=["wide", "narrow"])
def test_text_has_one_left_edge_and_a_readable_width_and_a_toast_covers_nothing_that_it_is_about(
    server: Served, open_page: Open, full: str, widths: list[int]
) -> None:
    page = open_page(server.at(full), viewport={"width": widths[0], "height": 900})
    expect(page.locator("segue-ghost")).to_have_count(1)
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        check_edge_and_width(page)
    page.set_viewport_size({"width": widths[0], "height": 900})
    page.locator("segue-ghost").get_by_role("button", name="Pause").click()
    check_toast(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("segue-ghost")).to_have_count(1)


def check_toast(page: Page) -> None:
    toast = page.locator(".toast").bounding_box()
    assert toast
    for part in ("segue-composer", "segue-future", "segue-turn:last-of-type"):
        box = page.locator(part).last.bounding_box()
        if box:
            apart = box["y"] >= toast["y"] + toast["height"] or toast["y"] >= box["y"] + box["height"]
            beside = box["x"] >= toast["x"] + toast["width"] or toast["x"] >= box["x"] + box["width"]
            assert apart or beside, part


def check_edge_and_width(page: Page) -> None:
    edges: list[float] = page.evaluate(
        """() => [".row.user .words", ".row.answer .text > p", "segue-tool", ".ghost .label", ".later span"]
            .map((name) => Math.round(document.querySelector(name).getBoundingClientRect().left))"""
    )
    assert len(set(edges)) == 1
    assert min(edges) >= 16
    paragraph = page.locator(".text > p").first
    assert paragraph.evaluate("(it) => it.offsetWidth / parseFloat(getComputedStyle(it).fontSize)") <= 42


def test_targets_are_large_enough_for_fingers_and_sheets_have_an_edge_in_the_dark(
    server: Served, open_page: Open, full: str
) -> None:
    page = open_page(server.at(full), **PHONE)
    expect(page.locator("segue-ghost")).to_have_count(1)
    small = """() => [...document.querySelectorAll("button, summary, textarea, input:not([type=checkbox])")]
        .filter((it) => it.checkVisibility() && !it.closest("[inert], .skip, .offscreen, .marks"))
        .filter((it) => it.getBoundingClientRect().height < 43.5)
        .map((it) => it.outerHTML.slice(0, 120))"""
    assert page.evaluate(small) == []
    page.get_by_role("button", name="Automations and memory").click()
    page.get_by_role("button", name="Edit: daily monitor").click()
    page.get_by_role("button", name="Edit the memory settings").click()
    assert page.evaluate(small) == []
    page.emulate_media(color_scheme="dark")
    edge = page.locator("segue-panel").evaluate("(it) => getComputedStyle(it).borderTopColor")
    assert edge == "rgb(74, 80, 76)"


def test_a_first_visit_has_no_error_in_the_console(server: Served, open_page: Open) -> None:
    page = open_page("about:blank", alone=True)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(server.url)
    expect(page.locator("segue-empty")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.goto("about:blank")
    page.goto(server.url)
    expect(page.locator("segue-empty")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert errors == []
