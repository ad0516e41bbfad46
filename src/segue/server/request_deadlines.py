"""Requests that are not complete yet: how long each may take, and how many there may be.

A request that was begun and never ended holds a connection, and so a file descriptor, and nobody needs a key
to begin one. Complete requests are not touched here, however long their answers take.

Invariants
  - a connection is in `Waiting` while the server waits for the rest of a request, and only then
  - when there are too many, the one that has been silent for longest is closed: a new one is always heard
"""

import asyncio
from collections import OrderedDict
from enum import Enum, auto
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from segue.record import record


@record
class Limits:
    head_seconds: float = 10
    """For the request line and the headers; for the first request from the opening of the connection on."""
    body_seconds: float = 300
    """For the whole body."""
    most: int = 512
    """Requests that are not complete, of all clients together."""


class Waiting:
    """The connections with a request that is not complete, those that are silent for longest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._connections: OrderedDict[Connection, None] = OrderedDict()

    def heard(self, connection: "Connection") -> None:
        self._connections[connection] = None
        self._connections.move_to_end(connection)
        if len(self._connections) > self.limits.most:
            self._connections.popitem(last=False)[0].give_up()

    def forget(self, connection: "Connection") -> None:
        self._connections.pop(connection, None)


class _Rest(Enum):
    """What the server waits for."""

    HEAD = auto()
    BODY = auto()


class Connection(HttpToolsProtocol):
    """uvicorn's own, with deadlines. A request that comes in one piece starts no timer."""

    waiting: Waiting

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rest: _Rest | None = _Rest.HEAD
        self._deadline: asyncio.TimerHandle | None = None
        self._silent = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._attend()

    def connection_lost(self, exc: Exception | None) -> None:
        self._now_for(None)
        self._attend()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._silent = False
        super().data_received(data)
        self._attend()

    def handle_websocket_upgrade(self) -> None:
        self._now_for(None)
        super().handle_websocket_upgrade()

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._rest is None:
            self._now_for(_Rest.HEAD)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._now_for(_Rest.BODY)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._now_for(None)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._attend()

    # Deadlines

    def _now_for(self, rest: _Rest | None) -> None:
        self._rest = rest
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _attend(self) -> None:
        """After each event: wait for the rest of a request, if there is one to come."""
        if self._rest is None or self._answers() or self.transport.is_closing():
            self.waiting.forget(self)
            return
        if self._deadline is None:
            limits = self.waiting.limits
            seconds = limits.head_seconds if self._rest is _Rest.HEAD else limits.body_seconds
            self._deadline = self.loop.call_later(seconds, self.give_up)
        self.waiting.heard(self)

    def _answers(self) -> bool:
        """Whether a complete request is being answered. What may follow it waits for that."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def give_up(self) -> None:
        answered = self._rest is _Rest.BODY and self.cycle.response_started
        self._now_for(None)
        self._attend()
        if self._silent or answered:
            self.transport.abort()
            return
        self.transport.write(STATUS_LINE[408] + b"connection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


def connections(limits: Limits) -> type[Connection]:
    """The class of the connections of one server."""

    class Limited(Connection):
        waiting = Waiting(limits)

    return Limited
