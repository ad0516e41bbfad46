"""Pictures at a glance: the last 30 days of a job, the next 30 of the conversation, and marks of memory."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Served
from tests.web.test_future import automation, recall

Open = Callable[..., Page]


def test_the_last_days_of_a_job_show_numbers_on_hover_and_focus(server: Served, open_page: Open) -> None:
    key = server.session("websocket:days", timezone="Europe/Berlin")
    job = automation(server, key, "monitor", "every 1s", message="fail")
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    page = open_page(server.at(key))
    month = page.locator("segue-automation segue-month")
    expect(month.locator(".bar")).to_have_count(30)
    expect(month.locator(".bar.bad")).to_have_count(1)
    expect(month.locator(".reading")).to_contain_text("Last 30 days:")
    month.locator(".bar").last.hover()
    expect(month.locator(".reading")).to_contain_text(re.compile(r"\d+ runs?, \d+ failed"))
    bars = page.get_by_role("slider", name="Last 30 days")
    bars.focus()
    page.keyboard.press("ArrowLeft")
    expect(bars).to_have_attribute("aria-valuetext", re.compile("0 runs$"))


def test_the_next_days_show_what_is_scheduled_here_only_and_count_what_the_forecast_counts(
    server: Served, open_page: Open
) -> None:
    """One truth: each number is the server's."""
    other = server.session("websocket:elsewhere-days")
    automation(server, other, "of another chat", "0 9 * * *")
    key = server.session("websocket:next-days", timezone="Europe/Berlin")
    automation(server, key, "weekday job", "0 9 * * 1-5")
    in_a_week = (datetime.now(UTC) + timedelta(days=7)).isoformat()
    automation(server, key, "once in a week", in_a_week)
    page = open_page(server.at(key))
    timeline = page.locator("segue-timeline")
    expect(timeline.locator(".bar")).to_have_count(31)  # 30 times 24 hours: today and the last day in part
    counted = timeline.locator(".bar.coming").count()
    assert 20 <= counted <= 24
    timeline.locator(".bar").nth(7).hover()
    expect(timeline.locator(".reading")).to_contain_text("once in a week")
    assert "another chat" not in timeline.inner_text()
    key = server.session("websocket:one-count", timezone="America/New_York")
    automation(server, key, "often", "every 10m")
    automation(server, key, "on workdays", "0 9 * * 1-5")
    recall(server, key, seconds=90_000, every=86_400)
    foretold = server.call("GET", f"sessions/{key}/forecast?timezone=Europe/Berlin")
    page.goto(server.at(key))
    expect(timeline.locator(".reading")).to_contain_text(f"{foretold['total']['runs']:,} times in 30 days")
    tomorrow = foretold["days"][1]
    timeline.locator(".bar").nth(1).hover()
    expect(timeline.locator(".reading")).to_contain_text("often ×144")
    assert tomorrow["runs"] == sum(tomorrow["jobs"].values()) >= 144
    assert sum(day["runs"] for day in foretold["days"]) == foretold["total"]["runs"]
    timeline.locator(".bar").nth(2).hover()
    expect(timeline.locator(".reading")).to_contain_text("read build.log")


def test_a_mark_stands_where_memory_was_archived(server: Served, open_page: Open) -> None:
    key = server.session("websocket:cut")
    server.say(key, "before the cut")
    page = open_page(server.at(key))
    expect(page.locator(".day.cut")).to_have_count(0)
    page.get_by_role("button", name="Archive now").click()
    expect(page.locator(".day.cut")).to_contain_text("the agent now works with its summary")
    server.say(key, "after the cut")
    expect(page.locator("segue-turn")).to_have_count(2)
    page.reload()
    expect(page.locator("segue-turn")).to_have_count(2)
    names = page.locator("segue-past > *").evaluate_all(
        "(all) => all.map((it) => it.className || it.localName)"
    )
    assert names == ["day", "segue-turn", "day cut", "segue-turn"]


def test_an_archiving_that_failed_says_so_and_can_be_tried_again(server: Served, open_page: Open) -> None:
    key = server.session("websocket:failed-archive")
    server.say(key, "hello")
    server.call("POST", f"sessions/{key}/commit", {})
    server.wait_for(f"sessions/{key}/archives", lambda answer: answer["archives"][0]["state"] == "done")
    server.say(key, "hello again")
    page = open_page("about:blank")

    def failing(route: Route) -> None:
        body = route.fetch().json()
        body["archives"][0] |= {"state": "failed", "error": "ModelAuthenticationError: status_code: 401"}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page.route("**/archives?*", failing)
    page.goto(server.at(key))
    drawer = page.get_by_role("region", name="Memory")
    expect(drawer.locator(".failed")).to_contain_text("The last archiving failed.")
    expect(drawer.get_by_text("status_code: 401")).to_be_hidden()
    drawer.get_by_text("Details").click()
    expect(drawer.get_by_text("status_code: 401")).to_be_visible()
    expect(page.locator(".day.cut")).to_contain_text("the summary failed")
    page.unroute("**/archives?*")
    drawer.get_by_role("button", name="Try again").click()
    expect(drawer.locator(".failed")).to_be_hidden()


def test_the_page_speaks_german_to_a_german_browser(server: Served, open_page: Open) -> None:
    key = server.session("websocket:german", timezone="Europe/Berlin")
    unanswered = {"when": [{"if": "unanswered", "since": "last_run"}]}
    automation(server, key, "Bericht", "0 9 * * 1,3", policy=unanswered)
    page = open_page(server.at(key), locale="de-DE")
    expect(page.locator("html")).to_have_attribute("lang", "de-DE")
    expect(page.locator("segue-automation")).to_contain_text("Montag und Mittwoch um 09:00")
    told = "nur wenn seit dem letzten Bericht niemand geantwortet hat"
    expect(page.locator("segue-automation .condition")).to_have_text(told)
    page.get_by_role("button", name="Bearbeiten: Bericht").click()
    expect(page.get_by_label("Wann")).to_have_value("jeden Montag und Mittwoch um 09:00")
    expect(page.locator("segue-edit segue-hint strong")).to_contain_text("09:00")
    page.get_by_role("textbox", name="Nachricht").fill("erinnere mich morgen um 9 an Ana")
    expect(page.locator("segue-composer segue-hint")).to_contain_text("09:00")
