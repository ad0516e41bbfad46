"""Settings on the page: connect a model from the first visit on, language, theme, zone, account, keyboard."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from segue.testing.scripted_provider import Fails, Line, ScriptedProvider, says
from tests.web.conftest import Serve, Served
from tests.web.test_axe import DESKTOP, PHONE, violations

FIRST_IMPORT_MS = 60_000
"""The server loads the model library at the first test of a connection."""
SECRET = "sk-a-key-that-no-page-may-show"


class Provider:
    """A scripted provider on an event loop of its own, because the browser blocks this thread."""

    def __init__(self) -> None:
        self.double = ScriptedProvider()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with self.double.listening():
            self._started.set()
            await self._stop.wait()

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(20)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    def script(self, *lines: Line) -> None:
        self.double.script(*lines)


@pytest.fixture
def provider() -> Iterator[Provider]:
    served = Provider()
    served.start()
    yield served
    served.end()


@pytest.fixture
def offline(migrated_sqlite_url: str) -> Iterator[Served]:
    """A server of its own: these tests change which model answers."""
    served = Served(migrated_sqlite_url, offline=True)
    served.start()
    yield served
    served.end()


@pytest.fixture(scope="module")
def unconnected(serve: Serve) -> Iterator[Served]:
    """Without a model and without chats, for tests that only look."""
    with serve(offline=True) as served:
        yield served


def open_settings(page: Page) -> None:
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_visible()


def enter(page: Page, provider: Provider, name: str = "small-model") -> None:
    page.get_by_role("radio", name="Other address").check()
    page.get_by_role("textbox", name="Model", exact=True).fill(name)
    page.get_by_label("Address", exact=True).fill(provider.double.base_url)
    page.get_by_label("Key", exact=True).fill(SECRET)


def test_a_new_user_connects_a_model_from_the_first_screen(
    offline: Served,
    provider: Provider,
    open_page: Callable[..., Page],
    picture: Callable[[Page, str], None],
) -> None:
    page = open_page(offline.url)
    card = page.get_by_role("complementary", name="Offline rules answer now.")
    expect(card).to_be_visible()
    expect(page.locator("segue-header .model")).to_have_text("Offline rules")
    picture(page, "first-visit")
    card.get_by_role("button", name="Connect a model").click()
    expect(page.get_by_role("heading", name="Model")).to_be_focused()
    enter(page, provider)
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("The model answers")).to_be_visible(timeout=FIRST_IMPORT_MS)
    picture(page, "connect-a-model")
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_hidden()
    expect(page.locator("segue-header .model")).to_have_text("small-model")
    expect(card).to_be_hidden()
    provider.script(says("Hello from a real model."))
    page.get_by_role("textbox", name="Message").fill("hello")
    page.keyboard.press("Enter")
    expect(
        page.get_by_role("list", name="Conversation").get_by_text("Hello from a real model.")
    ).to_be_visible()
    open_settings(page)
    expect(page.get_by_label("Key", exact=True)).to_have_value("")
    expect(page.get_by_label("Key", exact=True)).to_have_attribute("placeholder", "A key is stored")
    assert SECRET not in page.content()
    page.get_by_role("radio", name="Offline rules").check()
    page.get_by_role("button", name="Use offline rules").click()
    expect(page.locator("segue-header .model")).to_have_text("Offline rules")


def test_a_refused_key_leads_to_the_settings_where_ollama_asks_for_none(
    offline: Served, provider: Provider, open_page: Callable[..., Page]
) -> None:
    page = open_page(offline.url)
    open_settings(page)
    enter(page, provider)
    provider.script(Fails(401))
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_role("alert").first).to_have_text(
        "The server refused the key. Check it, or make a new one.", timeout=FIRST_IMPORT_MS
    )
    expect(page.locator("segue-header .model")).to_have_text("Offline rules")
    page.get_by_role("button", name="Save anyway").click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_hidden()
    provider.script(Fails(401))
    page.get_by_role("textbox", name="Message").fill("hello")
    page.keyboard.press("Enter")
    turn = page.locator("segue-turn.failed")
    expect(turn).to_contain_text("refused the key")
    turn.get_by_role("button", name="Open the settings").click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
    page.get_by_role("radio", name="Ollama").check()
    expect(page.get_by_label("Key", exact=True)).to_be_hidden()
    address = page.get_by_label("Address", exact=True)
    expect(address).to_have_attribute("placeholder", "http://127.0.0.1:11434/v1")
    page.get_by_role("textbox", name="Model", exact=True).fill("qwen3")
    address.fill("http://127.0.0.1:9/v1")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("alert").first).to_contain_text("http://127.0.0.1:9/v1 cannot be reached.")
    page.get_by_role("button", name="Save anyway").click()
    expect(page.locator("segue-header .model")).to_have_text("qwen3")


def test_question_mark_shows_the_keys_beside_the_model_and_escape_gives_the_focus_back(
    server: Served, open_page: Callable[..., Page]
) -> None:
    """The environment is named where it wins."""
    page = open_page(server.url)
    button = page.get_by_role("button", name="Settings", exact=True)
    button.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_focused()
    expect(page.locator("segue-settings dt")).to_have_count(10)
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog).to_contain_text("The application that runs Segue chooses the model.")
    expect(dialog.get_by_role("button", name="Connect", exact=True)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()


def test_the_theme_is_kept_and_applied_before_the_first_paint(
    server: Served, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.url, color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    open_settings(page)
    page.get_by_role("radio", name="Dark").check()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    open_settings(page)
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    page.get_by_role("radio", name="As the system").check()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_the_zone_of_a_chat_and_the_language_are_changed_in_the_settings(
    server: Served, open_page: Callable[..., Page]
) -> None:
    key = server.session("websocket:zoned", title="Zoned", timezone="Europe/Berlin")
    page = open_page(server.at(key))
    expect(page.get_by_role("heading", name="Zoned")).to_be_visible()
    open_settings(page)
    field = page.get_by_label("Zone for times you write in this chat")
    expect(field).to_have_value("Europe/Berlin")
    field.fill("Mars/Olympus")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Mars/Olympus")).to_be_visible()
    field.fill("Asia/Tokyo")
    page.get_by_role("button", name="Save", exact=True).click()
    server.wait_for(f"sessions/{key}", lambda session: session["timezone"] == "Asia/Tokyo")
    page.get_by_role("combobox", name="Language").select_option("de")
    expect(page.get_by_role("button", name="Einstellungen", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("size", "language"),
    [(DESKTOP, "en"), (DESKTOP, "de"), (PHONE, "zh"), (PHONE, "en")],
    ids=["desktop-en", "desktop-de", "phone-zh", "phone-en"],
)
def test_axe_finds_nothing_in_the_settings(
    unconnected: Served, open_page: Callable[..., Page], axe: str, size: Any, language: str
) -> None:
    page = open_page(unconnected.url, locale=language, reduced_motion="reduce", **size)
    expect(page.locator(".connect")).to_be_visible()
    assert violations(page, axe) == []
    page.evaluate("document.querySelector('segue-app').emit('segue-settings')")
    expect(page.locator("segue-model form")).to_be_visible()
    assert violations(page, axe) == []
    dialog = page.locator("dialog.settings")
    assert dialog.evaluate("(it) => it.scrollWidth <= it.clientWidth")
