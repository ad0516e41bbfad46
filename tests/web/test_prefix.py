"""The page of a mounted server: its files, requests and WebSocket are below the prefix."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web.conftest import Served


def test_the_page_works_below_a_prefix(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    server = Served(f"sqlite:///{tmp_path}/segue.db", prefix="/agents/segue")
    server.start()
    try:
        key = server.session("websocket:mounted")
        page = open_page(server.at(key))
        page.get_by_role("textbox", name="Message").fill("stream 20 10")
        page.keyboard.press("Enter")
        expect(page.locator("segue-turn .text")).to_contain_text("w19")
        outside = [
            address
            for address in page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
            if not address.startswith(server.url)
        ]
        assert outside == []
        page.reload()
        expect(page.locator("segue-turn .text")).to_contain_text("w19")
    finally:
        server.end()
