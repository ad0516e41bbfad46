"""The gate: what every request passes before a route sees it, and every answer on its way out.

A page of another site must not speak to us through somebody's browser: not by a name of its own that it
points at this machine (`Host`), and not by its own scripts (`Origin`). Programs send no `Origin`.
"""

import asyncio
import ipaddress
from collections.abc import Collection
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from segue.record import record
from segue.server.error_responses import Refused, refuse
from segue.server.metrics import Metrics

LARGEST_BODY = 4 << 20
"""Bytes. Larger than any message, smaller than what would hurt."""

_SAME_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ANYWHERE = frozenset({"0.0.0.0", "::"})

_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        ),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
    }.items()
)


@record
class Patience:
    """How long a body may take, whatever server is around this application."""

    piece_seconds: float = 30
    body_seconds: float = 300


class Hosts:
    """The names that we answer to."""

    def __init__(self, host: str, *, open_to_all: bool, more: Collection[str] = ()) -> None:
        listens = host.strip("[]").lower()
        # Where anybody may connect, everybody is asked for a key: that keeps a stranger's page out.
        self._any = open_to_all and listens in _ANYWHERE
        self._names = _SAME_MACHINE | {listens} | {name.lower() for name in more}

    def knows(self, host: str | None) -> bool:
        name = _name(host)
        return name is not None and (self._any or name in self._names or _is_loopback(name))


class Gate:
    def __init__(
        self, app: ASGIApp, hosts: Hosts, metrics: Metrics, patience: Patience | None = None
    ) -> None:
        self._app = app
        self._patience = patience or Patience()
        self._hosts = hosts
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._check(Headers(scope=scope))
        except Refused as refusal:
            await refuse(refusal, scope, receive, _dressed(send))
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._answer(scope, receive, _dressed(send))

    def _check(self, headers: Headers) -> None:
        host, origin = headers.get("host"), headers.get("origin")
        if not self._hosts.knows(host):
            raise Refused(403, "forbidden_host", "this server does not answer to that name")
        if origin is not None and not _same(origin, host or ""):
            raise Refused(403, "forbidden_origin", "this request comes from a page of another site")
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > LARGEST_BODY:
            raise _too_large()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, _measured(receive, self._patience), noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(perf_counter() - began)


def _dressed(send: Send) -> Send:
    async def dressed(message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            given = message.get("headers", ())
            named = {name for name, _ in given}
            message["headers"] = [*given, *(header for header in _HEADERS if header[0] not in named)]
        await send(message)

    return dressed


def _measured(receive: Receive, patience: Patience) -> Receive:
    """A body is counted and timed as it comes. Behind its end nothing is: that is how an end is noticed."""
    length, complete = 0, False
    until = asyncio.get_running_loop().time() + patience.body_seconds

    async def measured() -> Message:
        nonlocal length, complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(min(until, _seconds_from_now(patience.piece_seconds))):
                message = await receive()
        except TimeoutError:
            raise _too_slow(patience) from None
        complete = not message.get("more_body", False)
        length += len(message.get("body", b""))
        if length > LARGEST_BODY:
            raise _too_large()
        return message

    return measured


def _seconds_from_now(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


def _too_slow(patience: Patience) -> Refused:
    return Refused(
        408,
        "too_slow",
        f"the rest of the body did not come: a piece of it must come every {patience.piece_seconds:g} s, "
        f"and all of it within {patience.body_seconds:g} s; send it again",
        headers={"Connection": "close"},
    )


def _too_large() -> Refused:
    return Refused(413, "too_large", f"a body has at most {LARGEST_BODY:,} bytes")


def _name(host: str | None) -> str | None:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        return None


def _same(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and _port(parts.netloc, parts.scheme) == _port(
            host, parts.scheme
        )
    except ValueError:
        return False


def _port(netloc: str, scheme: str) -> tuple[str | None, int]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname, parts.port or {"http": 80, "https": 443}[scheme]


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
