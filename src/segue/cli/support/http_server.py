"""The HTTP server of `segue serve`: uvicorn, less its own ideas about signals and exits."""

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
from segue.server.request_deadlines import Limits, connections

if sys.platform != "win32":
    import resource

_MOST_DESCRIPTORS = 65_536
_GRACE_SECONDS = 3
"""For requests under way when the last turn has ended. A page that is open reconnects by itself."""


class CannotListen(SegueError):
    code = "cannot_listen"


class HttpServer(uvicorn.Server):
    """Ends when it is told to by `should_exit`, and says when it is ready."""

    def __init__(self, app: FastAPI, limits: Limits | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=connections(limits or Limits(most=min(Limits().most, descriptors() // 2))),
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                ws_max_size=LARGEST_BODY,
                # A delta is a few bytes: to press each costs more time and memory than it saves on the way.
                ws_per_message_deflate=False,
            )
        )
        self._house: AppState = app.state.segue
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        AppStatus.should_exit = False  # of the process, and left so by a server that was here before
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams of events learn of an end by uvicorn's signals, which are not ours: here they are told.
        AppStatus.should_exit = True
        self._house.close()
        await super().shutdown(sockets)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        except SystemExit as error:  # which would end the workers in the middle of their turns
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
    except (OSError, ValueError):  # macOS has a limit of its own below the one that it names
        return allowed
    return wanted


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Opened before the house is: a port that is taken stops nothing half-way."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server((str(address[0]), port), family=family)
        # Handed down to every connection. asyncio sets it only on sockets that it opened itself, and without
        # it an answer's body waits up to 40 ms for its head to be acknowledged.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {_why(error)}; choose another --port") from None
    with listening:
        yield listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _why(error: OSError) -> str:
    """In plain words: those of the socket module repeat the address, those of the resolver have no number."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()
