"""What the page loads before it shows the conversation, and how it loads the rest."""

from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, Route, expect

from tests.web.conftest import Served

Open = Callable[..., Page]
MOST_SHIFT = 0.02


def test_the_conversation_does_not_wait_for_the_later_scripts(server: Served, open_page: Open) -> None:
    """Issue 8: the conversation is shown as soon as its own scripts are loaded."""
    key = server.session("websocket:first", title="First")
    server.say(key, "hello")
    page = open_page("about:blank", alone=True)
    page.route("**/later.js", lambda route: None)
    page.goto(server.at(key))
    expect(page.locator("segue-turn .text")).to_have_text("You said: hello")
    expect(page.locator("segue-session a[aria-current]")).to_contain_text("First")
    assert page.locator("segue-panel").evaluate("(panel) => panel.matches(':defined')") is False


def test_neither_scripts_nor_the_conversation_are_requested_twice(server: Served, open_page: Open) -> None:
    key = server.session("websocket:once", title="Once")
    server.say(key, "hello")
    page = open_page("about:blank", alone=True)
    requests: Counter[str] = Counter()

    def note(request: Request) -> None:
        parts = urlsplit(request.url)
        requests[f"{parts.path}?{parts.query}"] += 1

    page.on("request", note)
    page.goto(server.at(key))
    expect(page.locator("segue-turn")).to_have_count(1)
    expect(page.get_by_role("complementary")).to_be_visible()
    path = "/sessions/websocket%3Aonce"
    needed = {"/sessions?limit=30", f"{path}?", f"{path}/log?limit=50"}
    assert {requests[each] for each in needed} == {1}
    assert [each for each, times in requests.items() if each.startswith("/web/") and times > 1] == []


def test_the_first_visit_is_shown_with_its_card_and_nothing_moves(
    offline_server: Served, open_page: Open
) -> None:
    """The card that offers a model is part of the first drawing: added later, it would move the examples."""
    page = open_page("about:blank", viewport={"width": 390, "height": 844})
    page.add_init_script(
        """window.moved = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((each) => (moved += each.value)))
            .observe({ type: "layout-shift", buffered: true });"""
    )
    waiting: list[Route] = []
    page.route("**/auth/session", lambda route: waiting.append(route))
    with page.expect_request("**/auth/session"):
        page.goto(offline_server.url)
    expect(page.locator(".shell")).to_be_visible()
    assert page.locator("segue-empty").count() == 0
    waiting[0].continue_()
    expect(page.get_by_role("button", name="Connect a model")).to_be_visible()
    page.wait_for_selector("segue-palette:defined", state="attached")
    assert page.evaluate("moved") <= MOST_SHIFT
    assert len(waiting) == 1


def test_a_closed_panel_requests_nothing(server: Served, open_page: Open) -> None:
    key = server.session("websocket:closed-panel", title="Closed")
    server.say(key, "hello")
    page = open_page("about:blank", viewport={"width": 390, "height": 844})
    requests: list[str] = []
    page.on("request", lambda request: requests.append(urlsplit(request.url).path))
    page.goto(server.at(key))
    page.wait_for_selector("segue-panel:defined", state="attached")
    page.wait_for_load_state("networkidle")
    assert not {each for each in requests if each.endswith(("/forecast", "/usage", "/memories"))}
    page.get_by_role("button", name="Automations and memory").click()
    expect(page.get_by_role("region", name="Memory")).to_be_visible()
    assert any(each.endswith("/forecast") for each in requests)


def test_a_page_that_lost_a_script_reloads_when_the_network_is_back(server: Served, open_page: Open) -> None:
    key = server.session("websocket:half", title="Half a page")
    server.say(key, "hello")
    page = open_page("about:blank", alone=True)
    lost: list[str] = []

    def lose(route: Route) -> None:
        route.abort()
        lost.append("")

    page.route("**/later.js", lose, times=1)
    page.goto(server.at(key))
    expect(page.locator("segue-turn")).to_have_count(1)
    page.get_by_role("textbox", name="Message").fill("half a sentence")
    page.context.set_offline(True)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("complementary")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("half a sentence")
    expect(page.locator("segue-turn")).to_have_count(1)
    assert lost == [""]


def test_a_tall_screen_is_filled(server: Served, open_page: Open) -> None:
    """If the first page of the log does not fill the screen, the page before it is loaded too."""
    key = server.session("websocket:tall")
    server.write(key, 80)
    page = open_page(server.at(key), viewport={"width": 1360, "height": 9000})
    expect(page.locator("segue-note")).to_have_count(80)
    expect(page.locator("segue-note").first).to_contain_text("line 0 of")
