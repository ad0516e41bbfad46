"""Texts that are expensive to render: the page opens, and other requests are still answered."""

import asyncio
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from time import perf_counter
from typing import Any

import httpx2
import pytest

from segue import Kernel
from segue.model.text_checks import MAX_TEXT
from segue.server import markdown_pool
from segue.server.markdown import Renderer, plain
from segue.server.markdown_pool import HtmlCache, html_of
from tests.crash.figures import Record, p99
from tests.docs.pages import ROOT
from tests.server.hostile_texts import HOSTILE
from tests.server.process import LONG, Served, served

MOST_MS = 250
"""The longest wait of another request, on an idle machine."""


class CountingRenderer(Renderer):
    """Records the longest input of the link search, which takes quadratic time."""

    def __init__(self) -> None:
        super().__init__(seconds=60)
        self.longest = 0
        links: Any = self._markdown.linkify
        for name in ("match", "match_at_start"):
            setattr(links._finder, name, self._counting(getattr(links._finder, name)))

    def _counting(self, find: Callable[[str], Any]) -> Callable[[str], Any]:
        def counting(text: str) -> Any:
            self.longest = max(self.longest, len(text))
            return find(text)

        return counting


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_rendered_or_shown_as_plain_text(name: str) -> None:
    text = HOSTILE[name]
    assert len(text) == MAX_TEXT
    assert len(Renderer().html(text)) < 20 * MAX_TEXT


@pytest.mark.parametrize("name", [name for name in HOSTILE if "addresses" in name])
def test_links_are_searched_in_short_pieces(name: str) -> None:
    renderer = CountingRenderer()
    renderer.html(HOSTILE[name])
    assert renderer.longest <= 2_000


def test_links_are_found_in_a_long_text() -> None:
    text = "".join(f"word{number} https://example.org/{number}_a_b " for number in range(2_000))
    assert Renderer().html(text).count('<a href="https://example.org/') == 2_000
    chinese = "很长的一段没有空格的话，" * 300 + "见https://example.org/a。"
    assert '<a href="https://example.org/a"' in Renderer().html(chinese)


def test_a_word_that_is_too_long_for_a_link_is_text() -> None:
    assert "<a " in Renderer().html("https://example.org/" + "a" * 1_900)
    assert "<a " not in Renderer().html("https://example.org/" + "a" * 2_100)


def test_a_text_that_takes_too_long_is_shown_as_plain_text() -> None:
    text = "**1 < 2**\nand _more_"
    assert Renderer(seconds=0).html(text) == plain(text) == "<p>**1 &lt; 2**<br>\nand _more_</p>\n"


def test_a_link_used_often_is_not_rendered() -> None:
    text = HOSTILE["a link that is used often"]
    assert Renderer().html(text) == plain(text)


async def test_no_text_is_rendered_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    render = Renderer.html

    def noted(renderer: Renderer, text: str) -> str:
        threads.add(threading.get_ident())
        return render(renderer, text)

    monkeypatch.setattr(Renderer, "html", noted)
    short, long = "A **short** text of this test", "A **long** text of this test " * 100
    html = await html_of([short, long])
    assert "<strong>short</strong>" in html[short]
    assert "<strong>long</strong>" in html[long]
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_a_text_that_is_not_ready_in_time_is_shown_as_plain_text() -> None:
    text = "Never **rendered** before"
    assert await html_of([text], seconds=0) == {text: plain(text)}
    assert "<strong>" in (await html_of([text]))[text]


async def test_a_short_text_does_not_wait_for_a_long_one() -> None:
    release = threading.Event()
    markdown_pool._long._thread.submit(release.wait, 60)
    async with asyncio.TaskGroup() as group:
        group.create_task(html_of(["A text that is **long** and slow " * 100], seconds=60))
        await asyncio.sleep(0)
        html = await html_of(["Short, and *not* slow"], seconds=60)
        release.set()
    assert html == {"Short, and *not* slow": "<p>Short, and <em>not</em> slow</p>\n"}


def test_the_cache_is_limited() -> None:
    cache = HtmlCache(most=2, characters=20)
    cache.put("a", "A")
    cache.put("b", "B")
    assert cache.get("a") == "A"
    cache.put("c", "C")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")
    cache.put("d", "D" * 18)
    assert (cache.get("a"), cache.get("c"), cache.get("d")) == (None, None, "D" * 18)


async def test_a_conversation_of_hostile_texts_opens(
    http: httpx2.AsyncClient, kernel: Kernel, subtests: pytest.Subtests
) -> None:
    await kernel.log.write_all("web:1", [("user", text) for text in HOSTILE.values()])
    for path in ("messages", "log", "context"):
        with subtests.test(path):
            assert (await http.get(f"/sessions/web:1/{path}")).status_code == 200
    assert (await http.post("/markdown", json={"text": HOSTILE["open links"]})).status_code == 200


async def test_a_page_has_a_limit_of_characters(
    http: httpx2.AsyncClient, kernel: Kernel, subtests: pytest.Subtests
) -> None:
    await kernel.log.write_all("web:1", [("user", f"{number:03}" + "a" * 99_997) for number in range(25)])
    for path, plural in (("messages", "messages"), ("log", "events")):
        with subtests.test(path):
            sizes, seqs = [], []
            cursor: dict[str, str] = {}
            while True:
                page = (await http.get(f"/sessions/web:1/{path}", params=cursor)).json()
                sizes.append(len(page[plural]))
                seqs += [each["seq"] for each in page[plural]]
                if page["next_cursor"] is None:
                    break
                cursor = {"cursor": page["next_cursor"]}
            assert sizes == [10, 10, 5]
            assert sorted(seqs) == list(range(1, 26))


@pytest.mark.skipif(not LONG, reason="measures: part of `make faults`")
@pytest.mark.serial
async def test_other_requests_are_answered_during_rendering(database_url: str, figure: Record) -> None:
    with (
        served(database_url, "--no-workers") as server,
        closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)) as other,
    ):
        for session in range(3):
            for text in HOSTILE.values():
                _write(other, f"web:{session}", f"{session} {text}"[:MAX_TEXT])
        _write(other, "web:other", "A **short** message")
        waits = _waits_while(_reading(server, range(3)), other)
    figure("requests answered while three pages of hostile texts were read", str(len(waits)))
    figure(f"the longest of them waited, in ms (bar: {MOST_MS})", f"{max(waits):.0f} (p99 {p99(waits):.0f})")


def _write(connection: http.client.HTTPConnection, key: str, text: str) -> None:
    body = json.dumps({"role": "user", "content": text})
    connection.request("POST", f"/sessions/{key}/messages", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200


def _reading(server: Served, sessions: range) -> "subprocess.Popen[bytes]":
    urls = [f"{server.http}/sessions/web:{session}/messages" for session in sessions]
    return subprocess.Popen([sys.executable, "-m", "tests.server.read_urls", *urls], cwd=ROOT)


def _waits_while(reading: "subprocess.Popen[bytes]", other: http.client.HTTPConnection) -> list[float]:
    """The duration in milliseconds of each request of another client during the reading."""
    waits: list[float] = []
    while reading.poll() is None:
        for path in ("/health", "/sessions/web:other/messages"):
            started = perf_counter()
            other.request("GET", path)
            answer = other.getresponse()
            answer.read()
            waits.append((perf_counter() - started) * 1000)
            assert answer.status == 200
    assert reading.returncode == 0
    return waits
