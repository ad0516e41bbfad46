"""Fixtures: the page in a real browser, against a server in another process."""

import json
import os
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.browser import NEEDS_CHROMIUM, find_chromium, find_shell
from tests.docs.pages import ROOT
from tests.eventually import eventually_blocking
from tests.forks import start_server
from tests.unavailable import cannot_run, npm_install
from tests.web.serve import run_server

IMAGES = ROOT / "docs" / "images"
DESKTOP = {"width": 1360, "height": 860}
TIMEZONE = "Europe/Berlin"
PATIENCE_MS = 30_000
"""Long enough for a busy machine; usually the page is much faster."""

expect.set_options(timeout=PATIENCE_MS)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures", action="store_true", help="write the pictures of the page into docs/images"
    )


@dataclass(slots=True)
class Served:
    """A server that can be killed and restarted at the same address with the same data."""

    database: str
    prefix: str = ""
    """Where it is mounted in another application; empty if it is served alone."""
    port: int = 0
    offline: bool = False
    private: bool = False
    mortal: bool = False
    process: ForkServerProcess = field(init=False)

    def start(self) -> None:
        options = (self.prefix, self.offline, self.private, self.mortal)
        self.process, self.port = start_server(run_server, self.database, self.port, *options)

    def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, by)
        self.process.join(20)
        self.process.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}/"

    def at(self, key: str) -> str:
        return f"{self.url}#{quote(key, safe='')}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def session(self, key: str, **about: Any) -> str:
        self.call("POST", "sessions", {"key": key, **about})
        return key

    def say(self, key: str, content: str) -> Any:
        return self.call("POST", f"sessions/{key}/turns?wait=20", {"content": content})

    def say_without_waiting(self, key: str, content: str) -> Any:
        return self.call("POST", f"sessions/{key}/turns", {"content": content})

    def write(self, key: str, count: int) -> None:
        for first in range(0, count, 100):
            batch = [
                {"role": "assistant" if number % 2 else "user", "content": f"line {number} of a long talk"}
                for number in range(first, min(first + 100, count))
            ]
            self.call("POST", f"sessions/{key}/messages/batch", {"messages": batch})

    def wait_for(self, path: str, true: Callable[[Any], bool]) -> Any:
        def look() -> list[Any]:
            answer = self.call("GET", path)
            return [answer] if true(answer) else []

        [answer] = eventually_blocking(look, path)
        return answer


Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory, _prepared_sqlite: Path) -> Serve:
    """Starts a server with the given options, for as many tests as the caller wants."""

    @contextmanager
    def serving(**options: Any) -> Iterator[Served]:
        file = tmp_path_factory.mktemp("web") / "segue.db"
        shutil.copy(_prepared_sqlite, file)
        served = Served(f"sqlite:///{file}", **options)
        served.start()
        yield served
        served.end()

    return serving


@pytest.fixture(scope="session")
def server(serve: Serve) -> Iterator[Served]:
    """Shared by all tests; each uses its own sessions."""
    with serve() as served:
        yield served


@pytest.fixture
def own_server(migrated_sqlite_url: str) -> Iterator[Served]:
    """For a test that kills the server, or that counts all sessions."""
    served = Served(migrated_sqlite_url, mortal=True)
    served.start()
    yield served
    served.end()


@pytest.fixture(scope="session")
def offline_server(serve: Serve) -> Iterator[Served]:
    """A server with the offline agent, which really calls the scheduling tools."""
    with serve(offline=True) as served:
        yield served


@pytest.fixture(scope="package")  # while it lives, no other event loop can run in this thread
def driver() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


def launched(driver: Playwright, executable: str | None) -> Iterator[Browser]:
    if executable is None:
        cannot_run(NEEDS_CHROMIUM)
    # One process for all pages of a server: to start one for each would cost a tenth more.
    args = ["--no-sandbox", "--renderer-process-limit=1"]
    browser = driver.chromium.launch(executable_path=executable, args=args)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def browser(driver: Playwright) -> Iterator[Browser]:
    yield from launched(driver, find_shell() or find_chromium())


@pytest.fixture(scope="package")
def whole_browser(request: pytest.FixtureRequest, driver: Playwright) -> Iterator[Browser]:
    """For what the headless shell does not have: notifications, and apps that are installed."""
    if find_shell() is None:
        yield request.getfixturevalue("browser")
    else:
        yield from launched(driver, find_chromium())


@pytest.fixture(scope="package")
def profiles(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """Shared by the tests that change nothing in them, one for each set of options."""
    made: dict[str, BrowserContext] = {}
    yield made
    for profile in made.values():
        profile.close()


def clear(profile: BrowserContext) -> None:
    """Close the tabs of a test, and delete everything that they stored."""
    empty, *others = profile.pages
    for page in others:
        page.close()
    profile.new_cdp_session(empty).send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    profile.clear_cookies()


@pytest.fixture
def open_page(browser: Browser, profiles: dict[str, BrowserContext]) -> Iterator[Callable[..., Page]]:
    """Opens a page in the shared profile with the given options; a second one in a profile of its own, as
    another person would. So does `alone=True`, for a test that changes the profile. An error in the page
    fails the test."""
    own: list[BrowserContext] = []
    used: list[BrowserContext] = []
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security" in message.text:
            errors.append(message.text)

    def new_profile(options: dict[str, Any]) -> BrowserContext:
        profile = browser.new_context(**{"timezone_id": TIMEZONE, **options})
        profile.set_default_timeout(PATIENCE_MS)
        return profile

    def shared_profile(options: dict[str, Any]) -> BrowserContext:
        name = repr(sorted(options.items()))
        if name not in profiles:
            profiles[name] = new_profile(options)
            profiles[name].new_page()  # A window costs as much as loading the page does: this keeps it open.
        return profiles[name]

    def profile_with(options: dict[str, Any], alone: bool) -> BrowserContext:
        if not alone and (shared := shared_profile(options)) not in used:
            used.append(shared)
            return shared
        own.append(new_profile(options))
        return own[-1]

    def opened(
        url: str,
        *,
        context: Any = None,
        alone: bool = False,
        viewport: Any = DESKTOP,
        color_scheme: Any = None,
        reduced_motion: Any = None,
        **options: Any,
    ) -> Page:
        page: Page = (context or profile_with(options, alone)).new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", note)
        page.goto(url)
        return page

    yield opened
    for profile in own:
        profile.close()
    for profile in used:
        clear(profile)
    assert errors == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, installed from npm into a temporary folder."""
    folder = tmp_path_factory.mktemp("axe")
    npm_install(folder, "axe-core@4")
    return Path(folder, "node_modules", "axe-core", "axe.min.js").read_text("utf-8")


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    """Takes a screenshot for the documentation, if `--pictures` was given."""
    wanted = request.config.getoption("--pictures", default=False)

    def take(page: Page, name: str) -> None:
        if wanted:
            IMAGES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")

    return take
