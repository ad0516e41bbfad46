"""The outlook in the panel: what comes in 30 days, what was used in 30 days, and what budgets have left."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation
from tests.web.test_panel import job_of

Open = Callable[..., Page]


def test_the_panel_says_what_comes_in_30_days_and_what_is_left_if_there_are_automations(
    server: Served, open_page: Open
) -> None:
    page = open_page(server.at(server.session("websocket:nothing-ahead")))
    expect(page.locator("segue-automations .none")).to_be_visible()
    expect(page.locator("segue-timeline")).to_be_hidden()
    expect(page.locator("segue-used")).to_be_hidden()
    key = server.session("websocket:outlook", timezone="Europe/Berlin")
    budget = {"runs": 2, "per": "day"}
    automation(server, key, "monitor", "0 9 * * *", policy={"budget": budget})
    automation(server, key, "plain", "0 8 * * *")
    page.goto(server.at(key))
    expect(page.locator("segue-timeline .reading")).to_have_text(re.compile(r"^60 times in 30 days"))
    expect(job_of(page, "monitor").locator(".price")).to_have_text("0 of 2 runs today")
    expect(job_of(page, "plain").locator(".price")).to_be_hidden()


def test_tokens_and_cost_are_shown_by_day_and_by_job(server: Served, open_page: Open) -> None:
    """A price that is not known is said to be unknown."""
    unpriced = server.session("websocket:unpriced")
    server.say(unpriced, "spend 800")
    page = open_page(server.at(unpriced))
    used = page.get_by_role("region", name="Used in the last 30 days")
    expect(used.locator(".reading")).to_have_text("800 tokens, price unknown")
    expect(used.locator(".bar.coming")).to_have_count(1)
    key = server.session("websocket:used", timezone="Europe/Berlin")
    server.say(key, "spend 1200 0.02")
    job = automation(server, key, "news", "every 1s", message="spend 4000 0.30")
    server.wait_for(f"automations/{job}/runs", lambda answer: any(run["outcome"] for run in answer["runs"]))
    server.call("POST", f"automations/{job}/pause")
    [ran] = {each["runs"] for each in server.call("GET", f"sessions/{key}/usage")["jobs"] if each["job_id"]}
    page.goto(server.at(key))
    expect(used.locator(".reading")).to_contain_text(f"${ran * 0.3 + 0.02:.2f}")
    expect(used.locator(".bar")).to_have_count(30)
    expect(used.locator("dt")).to_have_text(["news", "your messages"])
    expect(used.locator("dd").last).to_have_text("1.2 k tokens, $0.02")
    used.locator(".bar").last.hover()
    expect(used.locator(".reading")).to_contain_text(
        re.compile(r"Nov|Dec|[A-Z][a-z]{2} \d+: .* k tokens, \$")
    )
    days = job_of(page, "news").locator("segue-month")
    expect(days.locator(".reading")).to_contain_text(re.compile(r"\d+ runs?, .* k tokens, \$"))
    server.say(key, "spend 500")
    expect(used.locator(".reading")).to_contain_text("1 without a known price")
