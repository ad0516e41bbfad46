"""The HTTP server of `segue serve`: uvicorn without its signal handlers and exits."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from sse_starlette.sse import AppStatus

from segue.errors import SegueError
from segue.server.guard import LARGEST_BODY
from segue.server.request_context import AppState
from segue.server.request_deadlines import Limits, connection_class

if sys.platform != "win32":
    import resource

_MOST_DESCRIPTORS = 65_536
_GRACE_SECONDS = 3
"""For requests that are running when the last turn has ended. An open page reconnects by itself."""


class CannotListen(SegueError):
    code = "cannot_listen"


class HttpServer(uvicorn.Server):
    """Stops when `should_exit` is set, and sets `ready` when it listens."""

    def __init__(self, app: FastAPI, limits: Limits | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=connection_class(
                    limits or Limits(max_incomplete=min(Limits().max_incomplete, descriptors() // 2))
                ),
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                ws_max_size=LARGEST_BODY,
                # A delta is a few bytes: compression costs more time and memory than it saves.
                ws_per_message_deflate=False,
            )
        )
        self._state: AppState = app.state.segue
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # sse_starlette sets this in uvicorn's signal handlers, which are not installed. It is a flag of the
        # process: another application in it goes on streaming when this server has stopped.
        AppStatus.should_exit = True
        try:
            self._state.close()
            await super().shutdown(sockets)
        finally:
            AppStatus.should_exit = False

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        except SystemExit as error:  # it would stop the workers in the middle of their turns
            raise CannotListen("the server could not start; its log says why") from error


def descriptors() -> int:
    """How many files and connections this process may have open: as many as it may allow itself."""
    if sys.platform == "win32":
        return _MOST_DESCRIPTORS
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, _MOST_DESCRIPTORS)
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return _MOST_DESCRIPTORS if allowed == resource.RLIM_INFINITY else allowed
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (OSError, ValueError):  # macOS has a lower limit than the one that it reports
        return allowed
    return wanted


@contextmanager
def listening_socket(host: str, port: int, *, flag: str = "--port") -> Iterator[socket.socket]:
    """Open a listening socket before start-up, so that a taken port fails early. Raises CannotListen."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server((str(address[0]), port), family=family)
        # Every connection inherits it. asyncio sets it only on sockets that it opened itself. Without it, the
        # body of a response waits up to 40 ms for the acknowledgement of its head.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {_why(error)}; choose another {flag}") from None
    with listening:
        yield listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _why(error: OSError) -> str:
    """The reason without the address, which messages of the socket module repeat."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()
