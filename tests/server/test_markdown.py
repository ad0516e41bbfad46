"""What a message may show: a reader's browser is not the writer's."""

import asyncio
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

import httpx2
import pytest

from segue import Kernel
from segue.server import markdown
from segue.server.markdown import html, render_ahead

PROBES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "<javascript:alert(1)>",
    "![a](http://tracker.example/x.png)",
    "<a href='vbscript:x'>a</a>",
    "`</code><script>`",
    "```html\n</code></pre><script>x</script>\n```",
    '```"onclick=x\ncode\n```',
    "[a](http://x.example \"' onmouseover='x\")",
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<iframe src=//evil.example>",
    "| a |\n|---|\n| <form action=x> |",
]


class Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_that_could_do_harm_is_shown(probe: str) -> None:
    parts = Parts()
    parts.feed(html(probe))
    assert not parts.tags & {"script", "img", "svg", "style", "iframe", "form", "object", "embed"}
    assert {name for name, _ in parts.attributes} <= {"href", "title", "rel", "class", "start"}
    for name, value in parts.attributes:
        assert name != "href" or value.startswith(("http://", "https://", "mailto:"))


def test_what_people_write_is_rendered() -> None:
    assert html("**so** www.example.org") == (
        '<p><strong>so</strong> <a href="http://www.example.org" '
        'rel="noopener noreferrer nofollow">www.example.org</a></p>\n'
    )
    assert "<table>" in html("| a |\n|---|\n| b |")
    assert html("one\ntwo") == "<p>one<br>\ntwo</p>\n"


async def test_others_are_heard_between_two_texts_that_are_new() -> None:
    happened: list[str] = []

    def texts() -> Iterator[str]:
        for number in range(3):
            happened.append("text")
            yield f"The {number}th of **three** texts that others are heard between"

    async def other() -> None:
        for _ in range(3):
            happened.append("other")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(other())
        await render_ahead(texts())
    assert happened == ["text", "other"] * 3
    happened.clear()
    await render_ahead(texts())
    assert happened == ["text"] * 3


@pytest.mark.parametrize("path", ["messages", "log"])
async def test_whoever_opens_a_long_conversation_keeps_nobody_waiting(
    http: httpx2.AsyncClient, kernel: Kernel, path: str
) -> None:
    await kernel.write_all("web:1", [("user", f"New to {path} and {kernel.name}: {n}") for n in range(30)])
    rendered: list[int] = []

    async def watch() -> None:
        while True:
            rendered.append(markdown._kept.cache_info().misses)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch())
        assert (await http.get(f"/sessions/web:1/{path}")).status_code == 200
        watching.cancel()
    assert rendered[-1] - rendered[0] == 30
    assert max(later - before for before, later in pairwise(rendered)) == 1
