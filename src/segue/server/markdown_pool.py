"""Messages as HTML, rendered on threads of their own: the event loop never renders.

Short and long texts have a thread each, so that a message of a line does not wait for a page of somebody
else's. A request waits for its texts a bounded time; what is not ready by then is shown as plain text.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from segue.server.markdown import Renderer, plain

REQUEST_SECONDS = 2.0
"""That a request waits for all of its texts."""
_SHORT = 2_000
_MOST_KEPT = 2_048
_MOST_KEPT_CHARACTERS = 20_000_000


class Kept:
    """What was rendered last, by its text: many clients are shown the same message."""

    def __init__(self, most: int = _MOST_KEPT, characters: int = _MOST_KEPT_CHARACTERS) -> None:
        self._most = most
        self._characters = characters
        self._html: OrderedDict[str, str] = OrderedDict()
        self._held = 0
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
            self._held += len(text) + len(html)
            while len(self._html) > self._most or self._held > self._characters:
                oldest, its_html = self._html.popitem(last=False)
                self._held -= len(oldest) + len(its_html)


class Lane:
    """One thread, and the renderer that only it uses."""

    def __init__(self, name: str, kept: Kept) -> None:
        self._renderer = Renderer()
        self._kept = kept
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"segue-markdown-{name}")

    async def html(self, text: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._rendered, text)

    def _rendered(self, text: str) -> str:
        html = self._kept.get(text)
        if html is None:
            html = self._renderer.html(text)
            self._kept.put(text, html)
        return html


_kept = Kept()
_short, _long = Lane("short", _kept), Lane("long", _kept)


async def html_of(texts: Iterable[str], *, seconds: float = REQUEST_SECONDS) -> dict[str, str]:
    """The HTML of each text."""
    until = asyncio.get_running_loop().time() + seconds
    shown: dict[str, str] = {}
    for text in texts:
        if text not in shown:
            shown[text] = _kept.get(text) or await _html(text, until)
    return shown


async def _html(text: str, until: float) -> str:
    if asyncio.get_running_loop().time() >= until:
        return plain(text)
    try:
        async with asyncio.timeout_at(until):
            return await (_short if len(text) <= _SHORT else _long).html(text)
    except TimeoutError:
        return plain(text)
