"""`segue serve` with API keys: the page asks for one."""

import json
import os
import re
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.forks import fork_program

Open = Callable[..., Page]
Take = Callable[[Page, str], None]

KEY = "the-long-key-of-ada"
BEN = "the-long-key-of-ben"
OPERATOR = "the-long-key-of-the-operator"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("keys")
    keys = [
        {"key": KEY, "account": "one", "user": "ada", "role": "user"},
        {"key": BEN, "account": "one", "user": "ben", "role": "user"},
        {"key": OPERATOR, "account": "one", "user": "grace", "role": "admin"},
    ]
    read, written = os.pipe()
    with open(os.devnull, "r+b") as nothing, open(read) as output:
        process = fork_program(
            "segue.cli.main",
            ["serve", "--port", "0", "--data", str(folder)],
            folder=folder,
            environment={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "SEGUE_API_KEYS": json.dumps(keys),
            },
            streams=(nothing.fileno(), written, nothing.fileno()),
        )
        os.close(written)
        line = output.readline()
        match = re.search(r"http://\S+", line)
        assert match, line
        yield match[0]
        process.terminate()
        process.join(30)
        assert process.exitcode == 0


def test_a_key_opens_the_page_and_logging_out_closes_it(address: str, open_page: Open, picture: Take) -> None:
    """A user who is no admin sees their name and no form for a model. With the offline model, a reminder that
    the user writes becomes a ghost."""
    page = open_page(address)
    field = page.get_by_label("Your key for this server")
    field.fill("not this one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The server does not accept this key.")
    picture(page, "page-login")
    field.fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()
    expect(page.locator("segue-header .model")).to_have_text("Offline rules")
    expect(page.locator(".connect")).to_be_hidden()
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog).to_contain_text("You are ada in the account one (user).")
    expect(dialog).to_contain_text("An administrator can change the model.")
    expect(dialog.get_by_role("button", name="Connect", exact=True)).to_have_count(0)
    assert page.evaluate("fetch('settings').then((response) => response.status)") == 403
    page.keyboard.press("Escape")
    page.get_by_role("button", name="A reminder").click()
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .answer .text")).not_to_be_empty()
    expect(page.locator("segue-ghost")).to_contain_text("stretch")
    page.get_by_role("button", name="Log out").click()
    expect(field).to_be_visible()
    assert KEY not in page.evaluate("JSON.stringify({ ...localStorage }) + document.cookie")


def opened(address: str, key: str, session: str) -> None:
    request = urllib.request.Request(
        f"{address}/sessions",
        data=json.dumps({"key": session, "title": f"Chat {session}"}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    urllib.request.urlopen(request, timeout=20).close()


def test_an_operator_sees_whose_a_chat_is(address: str, open_page: Open) -> None:
    """Not of their own chats; and a user sees only their own anyway."""
    opened(address, KEY, "web:ada")
    opened(address, OPERATOR, "web:grace")
    page = open_page(f"{address}/#web%3Aada")
    page.get_by_label("Your key for this server").fill(OPERATOR)
    page.keyboard.press("Enter")
    rows = page.locator("segue-session")
    expect(rows.filter(has_text="Chat web:ada").locator(".owner")).to_have_text("of ada")
    expect(rows.filter(has_text="Chat web:grace").locator(".owner")).to_have_count(0)
    expect(page.locator("segue-header .owner")).to_have_text("of ada")
    page.goto(f"{address}/#web%3Agrace")
    expect(page.get_by_role("heading", name="Chat web:grace")).to_be_visible()
    expect(page.locator("segue-header .owner")).to_have_text("")


def test_the_socket_does_not_reconnect_while_a_login_is_needed(address: str, open_page: Open) -> None:
    page = open_page("about:blank", alone=True)
    page.clock.install()
    page.goto(address)
    field = page.get_by_label("Your key for this server")
    field.fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.context.clear_cookies()
    page.context.set_offline(True)
    page.context.set_offline(False)
    expect(field).to_be_visible()
    tried = len(sockets)
    assert tried > 0
    for _ in range(3):
        page.clock.fast_forward(60_000)
        page.evaluate("fetch('favicon.ico').catch(() => {})")
    assert len(sockets) == tried
