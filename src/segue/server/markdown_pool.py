"""Markdown pool: renders messages on two threads and caches the HTML, so that the event loop never renders.

Short and long texts have a thread each, so that a short message does not wait for a long one. A request waits
a limited time for its texts; a text that is not ready by then is shown as plain text.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from segue.server.markdown import Renderer, plain

REQUEST_SECONDS = 2.0
"""How long a request waits for all of its texts."""
_SHORT = 2_000
_MAX_CACHED = 2_048
_MAX_CACHED_CHARACTERS = 20_000_000


class HtmlCache:
    """LRU cache of HTML by text. Many clients read the same message."""

    def __init__(self, most: int = _MAX_CACHED, characters: int = _MAX_CACHED_CHARACTERS) -> None:
        self._most = most
        self._characters = characters
        self._html: OrderedDict[str, str] = OrderedDict()
        self._length = 0
        self._lock = Lock()

    def get(self, text: str) -> str | None:
        with self._lock:
            if text in self._html:
                self._html.move_to_end(text)
            return self._html.get(text)

    def put(self, text: str, html: str) -> None:
        with self._lock:
            if text in self._html:
                return
            self._html[text] = html
            self._length += len(text) + len(html)
            while len(self._html) > self._most or self._length > self._characters:
                oldest, oldest_html = self._html.popitem(last=False)
                self._length -= len(oldest) + len(oldest_html)


class RenderThread:
    """One thread with its own renderer."""

    def __init__(self, name: str, cache: HtmlCache) -> None:
        self._renderer = Renderer()
        self._cache = cache
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"segue-markdown-{name}")

    async def html(self, text: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._render, text)

    def _render(self, text: str) -> str:
        html = self._cache.get(text)
        if html is None:
            html = self._renderer.html(text)
            self._cache.put(text, html)
        return html


_cache = HtmlCache()
_short, _long = RenderThread("short", _cache), RenderThread("long", _cache)


async def html_of(texts: Iterable[str], *, seconds: float = REQUEST_SECONDS) -> dict[str, str]:
    """Return the HTML of each text, by text."""
    until = asyncio.get_running_loop().time() + seconds
    html: dict[str, str] = {}
    for text in texts:
        if text not in html:
            html[text] = _cache.get(text) or await _html(text, until)
    return html


async def _html(text: str, until: float) -> str:
    if asyncio.get_running_loop().time() >= until:
        return plain(text)
    try:
        async with asyncio.timeout_at(until):
            return await (_short if len(text) <= _SHORT else _long).html(text)
    except TimeoutError:
        return plain(text)
