"""The outlook in the panel: what comes in the next 30 days, and what is left of a budget."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served
from tests.web.test_future import automation
from tests.web.test_panel import job_of

Open = Callable[..., Page]


def test_the_panel_says_what_comes_in_30_days_and_what_is_left(server: Served, open_page: Open) -> None:
    key = server.session("websocket:outlook", timezone="Europe/Berlin")
    budget = {"runs": 2, "per": "day"}
    automation(server, key, "monitor", "0 9 * * *", policy={"budget": budget})
    automation(server, key, "plain", "0 8 * * *")
    page = open_page(server.at(key))
    ahead = page.locator("segue-automations .ahead")
    expect(ahead).to_have_text(re.compile(r"^30 days: 60 runs"))
    expect(job_of(page, "monitor").locator(".price")).to_have_text("0 of 2 runs today")
    expect(job_of(page, "plain").locator(".price")).to_be_hidden()


def test_a_chat_without_automations_has_no_outlook(server: Served, open_page: Open) -> None:
    page = open_page(server.at(server.session("websocket:nothing-ahead")))
    expect(page.locator("segue-automations .none")).to_be_visible()
    expect(page.locator("segue-automations .ahead")).to_be_hidden()


def test_a_job_with_a_condition_says_so(server: Served, open_page: Open) -> None:
    key = server.session("websocket:condition", timezone="Europe/Berlin")
    until_done = {"when": [{"if": "not_done"}], "otherwise": "end"}
    automation(server, key, "pills", "0 9 * * *", policy=until_done)
    page = open_page(server.at(key))
    expect(job_of(page, "pills").locator(".condition")).to_have_text("until you say “done”")
