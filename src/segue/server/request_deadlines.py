"""Request deadlines: limits how long an incomplete request may take, and how many there may be (slow loris).

An incomplete request holds a connection, and so a file descriptor, and a client needs no key to begin one.
Complete requests are not limited here, however long their responses take.

Invariants
  - a connection is in `IncompleteRequests` while the server waits for the rest of a request, and only then
  - above the limit, the connection that has sent nothing for longest is closed; a new one is always accepted
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
    """For the request line and the headers. For the first request, from the opening of the connection."""
    body_seconds: float = 300
    """For the whole body."""
    max_incomplete: int = 4_096
    """Incomplete requests of all clients together. When a server restarts, all its clients connect at once:
    each of them has a request that is incomplete until the server reads it."""


class IncompleteRequests:
    """The connections with an incomplete request, ordered by when they last sent data, oldest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._connections: OrderedDict[Connection, None] = OrderedDict()

    def touch(self, connection: "Connection") -> None:
        self._connections[connection] = None
        self._connections.move_to_end(connection)
        if len(self._connections) > self.limits.max_incomplete:
            self._connections.popitem(last=False)[0].time_out()

    def remove(self, connection: "Connection") -> None:
        self._connections.pop(connection, None)


class _Part(Enum):
    """The part of a request that the server waits for."""

    HEAD = auto()
    BODY = auto()


class Connection(HttpToolsProtocol):
    """uvicorn's HTTP connection with deadlines. A request that arrives in one piece starts no timer."""

    incomplete: IncompleteRequests

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._missing: _Part | None = _Part.HEAD
        self._deadline: asyncio.TimerHandle | None = None
        self._no_data = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for(None)
        self._update_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._no_data = False
        super().data_received(data)
        self._update_deadline()

    def handle_websocket_upgrade(self) -> None:
        self._wait_for(None)
        super().handle_websocket_upgrade()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._missing is None:
            self._wait_for(_Part.HEAD)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._wait_for(_Part.BODY)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._wait_for(None)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_deadline()

    # Deadlines

    def _wait_for(self, part: _Part | None) -> None:
        self._missing = part
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _update_deadline(self) -> None:
        """Call after each event: starts the deadline if the rest of a request is missing."""
        if self._missing is None or self._is_answering() or self.transport.is_closing():
            self.incomplete.remove(self)
            return
        if self._deadline is None:
            limits = self.incomplete.limits
            seconds = limits.head_seconds if self._missing is _Part.HEAD else limits.body_seconds
            self._deadline = self.loop.call_later(seconds, self.time_out)
        self.incomplete.touch(self)

    def _is_answering(self) -> bool:
        """Whether a complete request is being answered. Pipelined data after it waits for the response."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def time_out(self) -> None:
        response_started = self._missing is _Part.BODY and self.cycle.response_started
        self._wait_for(None)
        self._update_deadline()
        if self._no_data or response_started:
            self.transport.abort()
            return
        self.transport.write(STATUS_LINE[408] + b"connection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


def connection_class(limits: Limits) -> type[Connection]:
    """The connection class of one server; its connections share the limits."""

    class LimitedConnection(Connection):
        incomplete = IncompleteRequests(limits)

    return LimitedConnection
