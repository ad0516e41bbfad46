"""One truth per screen: counts, running and waiting, lateness and times agree wherever they are shown."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Served
from tests.web.test_future import automation

Open = Callable[..., Page]


def test_panel_and_thread_count_down_together(server: Served, open_page: Open) -> None:
    key = server.session("websocket:together", timezone="Europe/Berlin")
    automation(server, key, "soon", "every 50s")
    page = open_page(server.at(key))
    expect(page.locator("segue-ghost time")).to_contain_text("in ")
    expect(page.locator("segue-automation .next span").first).to_contain_text("in ")
    for _ in range(3):
        shown = page.evaluate(
            """() => [document.querySelector("segue-ghost time").textContent,
                      document.querySelector("segue-automation .next span").textContent]"""
        )
        assert shown[1] == f"next {shown[0]}"
        expect(page.locator("segue-ghost time")).not_to_have_text(shown[0])


def test_what_is_drawn_later_counts_from_the_same_second(server: Served, open_page: Open) -> None:
    """Parts that are drawn within one second show the same time, wherever in that second they are drawn."""
    key = server.session("websocket:one-clock", timezone="Europe/Berlin")
    now = datetime.now(UTC).replace(microsecond=0)
    at = now + timedelta(hours=1)
    automation(server, key, "once", at.isoformat())
    page = open_page("about:blank", alone=True)
    page.clock.install(time=now)
    waiting: list[Route] = []
    page.route("**/later.js", lambda route: waiting.append(route))
    page.goto(server.at(key))
    ghost = page.locator("segue-ghost time")
    expect(ghost).to_contain_text("in ")
    page.clock.pause_at(at - timedelta(seconds=50))
    before = ghost.inner_text()
    while (shown := ghost.inner_text()) == before:
        page.clock.run_for(50)
    page.clock.run_for(900)
    assert ghost.inner_text() == shown
    waiting[0].continue_()
    expect(page.locator("segue-automation .next span").first).to_have_text(f"next {shown}")


def test_only_what_runs_says_running(server: Served, open_page: Open) -> None:
    key = server.session("websocket:who-runs", timezone="Europe/Berlin")
    first = automation(server, key, "holder", "every 1s", message="hold")
    server.wait_for(f"sessions/{key}", lambda session: session["state"] == "running")
    server.call("POST", f"automations/{first}/pause")
    second = automation(server, key, "waiter", "every 1s")
    server.wait_for(f"sessions/{key}", lambda session: session["queued"] == 1)
    page = open_page(server.at(key))
    status = {
        name: page.locator("segue-automation", has_text=name).locator(".status")
        for name in ("holder", "waiter")
    }
    expect(status["holder"]).to_have_text("running")
    expect(status["waiter"]).to_have_text("waiting")
    server.call("POST", f"automations/{second}/pause")
    page.keyboard.press("Escape")
    expect(status["holder"]).to_have_text("paused")


def test_late_includes_the_wait(server: Served, open_page: Open) -> None:
    key = server.session("websocket:late", timezone="Europe/Berlin")
    server.say_without_waiting(key, "stream 60 50")
    job = automation(server, key, "waited", "every 1s")
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    page = open_page(server.at(key))
    page.locator(".mark.ok").first.click()
    late = page.locator("segue-run dd").nth(1)
    expect(late).to_have_text(re.compile(r"^\d+\.\d s$"))


def test_header_sidebar_and_panel_agree(server: Served, open_page: Open) -> None:
    key = "websocket:agree"
    page = open_page(server.at(key))
    page.get_by_role("textbox", name="Message").fill("hold on to this title")
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("hold on to this title")
    expect(page.locator("segue-session a[aria-current] .words")).to_have_text("hold on to this title")
    page.keyboard.press("Escape")
    for number in range(3):
        automation(server, key, f"job {number}", "0 9 * * *")
        expect(page.locator("segue-automation")).to_have_count(number + 1)
        expect(page.locator("segue-header .count")).to_have_text(str(number + 1))
