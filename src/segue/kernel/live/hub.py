"""The hub: fans live events out to the listeners of one process.

The log is the truth; the hub is a short cut to it. A listener that cannot keep up is not waited for:
its queue is dropped, it is told so, and it reads on from the log.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from segue.kernel.live.single_flight import SingleFlight
from segue.model.records import Delivery, Event
from segue.record import positional, record

MOST_WAITING = 1000

EVERYTHING = "*"
"""In place of a session: whatever happens in this process, less the live text."""


@record
class LiveText:
    """A fragment of what is being said. Not in the log: its place is the last number and an offset."""

    session_id: str
    via_id: str | None = None
    """The chat that its turn came by, in unified mode: it is heard there too."""
    turn_id: str
    attempt: int
    """Of the turn: a worker that lost its lease may still be talking."""
    type: str
    """`stream_delta` or `thinking_delta`."""
    seq: int
    offset: int
    text: str
    replay: bool = False
    """Said before this listener came, as one piece."""


@positional
class Lagged:
    """Something was dropped, or may have been written elsewhere: read on from the log."""

    look: int | None = None
    """The number of the look that was asked of everybody, who may share what they find.

    None: something was dropped."""


@positional
class DeliverySent:
    """A delivery has gone out. Only those who listen to everything are told."""

    delivery: Delivery
    at: int


Heard: TypeAlias = Event | LiveText | Lagged | DeliverySent


class Listener:
    """What one listener has not heard yet."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Heard] = asyncio.Queue(MOST_WAITING)

    def tell(self, heard: Heard) -> None:
        if self._waiting.full():
            while not self._waiting.empty():
                self._waiting.get_nowait()
            heard = Lagged()
        self._waiting.put_nowait(heard)

    async def next(self) -> Heard:
        return await self._waiting.get()


class Hub:
    def __init__(self) -> None:
        # In the order in which they came: that of a set would change from run to run.
        self._listeners: defaultdict[str, dict[Listener, None]] = defaultdict(dict)
        self._looks = 0
        self.shared = SingleFlight()
        """What listeners have found who were told the same."""

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

    def sent(self, delivery: Delivery, at: int) -> None:
        self._tell(EVERYTHING, DeliverySent(delivery, at))

    def look_again(self) -> None:
        """Another process may have written: every listener looks, and reads on where the log has grown."""
        self._looks += 1
        for session_id in list(self._listeners):
            self._tell(session_id, Lagged(self._looks))

    def _tell(self, session_id: str, heard: Heard) -> None:
        for listener in self._listeners.get(session_id, ()):
            listener.tell(heard)
