"""Hub: in-process publish/subscribe of a session's events and of the text being generated.

The log is the truth; the hub only saves reading it. The hub never waits for a slow listener: it drops the
listener's queue and sends it `Lagged`, and the listener reads on from the log.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from segue.kernel.live.single_flight import SingleFlight
from segue.model.records import Event
from segue.record import positional, record

MOST_WAITING = 1000

EVERYTHING = "*"
"""In place of a session id: the events of all sessions, without live text."""


@record
class LiveText:
    """A fragment of a running turn's text. It is not in the log: `seq` and `offset` say where it belongs."""

    session_id: str
    via_id: str | None = None
    """The chat that its turn came from, in unified mode: its listeners get the text too."""
    turn_id: str
    attempt: int
    """The turn's attempt: an agent whose worker lost the lease may still be producing text."""
    type: str
    """`stream_delta` or `thinking_delta`."""
    seq: int
    offset: int
    text: str
    replay: bool = False
    """The text from before this listener connected, in one piece."""


@positional
class Lagged:
    """Something was dropped, or another process may have written: read on from the log."""

    look: int | None = None
    """Number of the check that all listeners were asked to make; listeners of a session share one query.

    None: something was dropped."""


@positional
class SummaryChanged:
    """A session's summary changed without an event: its owner has read messages."""

    session_id: str
    number: int
    """Of this change; listeners share one query."""


HubItem: TypeAlias = Event | LiveText | Lagged | SummaryChanged
"""What a listener gets."""


class Listener:
    """Queue of what one listener has not read yet."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[HubItem] = asyncio.Queue(MOST_WAITING)

    def tell(self, item: HubItem) -> None:
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
            item = Lagged()
        self._queue.put_nowait(item)

    async def next(self) -> HubItem:
        return await self._queue.get()


class Hub:
    def __init__(self) -> None:
        # Dicts, not sets: the order of a set would change from run to run.
        self._listeners: defaultdict[str, dict[Listener, None]] = defaultdict(dict)
        self._checks = 0
        self.shared = SingleFlight()
        """Shares one query among listeners that were sent the same `Lagged`."""

    @contextmanager
    def listen(self, session_id: str) -> Iterator[Listener]:
        listener = Listener()
        self._listeners[session_id][listener] = None
        try:
            yield listener
        finally:
            self._listeners[session_id].pop(listener, None)
            if not self._listeners[session_id]:
                del self._listeners[session_id]

    def publish(self, events: Iterable[Event]) -> None:
        if not self._listeners:
            return
        for event in events:
            self._tell(event.session_id, event)
            self._tell(EVERYTHING, event)

    def live(self, text: LiveText) -> None:
        self._tell(text.session_id, text)
        if text.via_id is not None:
            self._tell(text.via_id, text)

    def summary_changed(self, session_id: str) -> None:
        self._checks += 1
        self._tell(EVERYTHING, SummaryChanged(session_id, self._checks))

    def look_again(self) -> None:
        """Another process may have written: every listener checks whether its log has grown."""
        self._checks += 1
        for session_id in list(self._listeners):
            self._tell(session_id, Lagged(self._checks))

    def _tell(self, session_id: str, item: HubItem) -> None:
        for listener in self._listeners.get(session_id, ()):
            listener.tell(item)
