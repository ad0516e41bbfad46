"""Request guard: ASGI middleware that checks each request and adds security headers to each response.

A page of another site must not reach this server through a user's browser: neither by DNS rebinding (`Host`)
nor by cross-site requests (`Origin`), unless its origin is allowed. Programs send no `Origin`.
"""

import asyncio
import re
from collections.abc import Collection
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from segue import __version__
from segue.errors import BadSetting
from segue.record import record
from segue.server.auth import is_loopback
from segue.server.error_responses import Refused, refuse
from segue.server.metrics import Metrics

LARGEST_BODY = 4 << 20
"""Bytes. Larger than any valid message. An uploaded file has a limit of its own."""
_FORM_BYTES = 64 << 10
"""What a form may add to the file in it."""
_LENGTH = re.compile(r"[0-9]{1,19}")
_UPLOAD = re.compile(r".*/sessions/[^/]+/files")
_WITH_DATA_URLS = re.compile(
    r".*/(v1/chat/completions|v1/responses|agui|ui|langgraph/(threads/[^/]+/)?runs(/stream|/wait)?)"
)
"""Wires whose messages have files in them, as base64, beside those of the history."""

VERSION_HEADER = "x-segue-version"
"""Tells a client which Segue answers, so that it can refuse a version it does not understand."""

_SAME_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_USUAL_PORTS = {"http": 80, "https": 443}
_ALL_INTERFACES = frozenset({"0.0.0.0", "::"})

_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
            "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        ),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        VERSION_HEADER: __version__,
        "cache-control": "no-store",
    }.items()
)


@record
class BodyDeadlines:
    """How long a request body may take. Holds under any ASGI server."""

    piece_seconds: float = 30
    body_seconds: float = 300


class Hosts:
    """The host names that this server answers to."""

    def __init__(self, host: str, *, open_to_all: bool, more: Collection[str] = ()) -> None:
        own_name = host.strip("[]").lower()
        # A server on all interfaces requires a key, which another site's page does not have.
        self._any = open_to_all and own_name in _ALL_INTERFACES
        self._names = _SAME_MACHINE | {own_name} | {name.lower() for name in more}

    def allows(self, host: str | None) -> bool:
        name = _name(host)
        return name is not None and (self._any or name in self._names or is_loopback(name))


class Origins:
    """The origins of other sites whose pages may use this server: `https://app.example.org`.

    Raises BadSetting for a text that is not an origin.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self.names = frozenset(map(_origin, allowed))

    def allows(self, origin: str, host: str) -> bool:
        return origin in self.names or _is_same_origin(origin, host)


class RequestGuard:
    def __init__(
        self,
        app: ASGIApp,
        hosts: Hosts,
        origins: Origins,
        metrics: Metrics,
        largest_file: int,
        deadlines: BodyDeadlines | None = None,
    ) -> None:
        self._app = app
        self._largest_file = largest_file
        self._deadlines = deadlines or BodyDeadlines()
        self._hosts = hosts
        self._origins = origins
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        largest = self._largest_body(scope)
        try:
            self._check(scope, largest)
        except Refused as refusal:
            await refuse(refusal, scope, receive, _with_headers(send))
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._answer(scope, _limited(receive, self._deadlines, largest), _with_headers(send))

    def _largest_body(self, scope: Scope) -> int:
        if scope.get("method") != "POST":
            return LARGEST_BODY
        if _UPLOAD.fullmatch(scope["path"]):
            return self._largest_file + _FORM_BYTES
        return LARGEST_BODY + self._largest_file * 4 // 3 * bool(_WITH_DATA_URLS.fullmatch(scope["path"]))

    def _check(self, scope: Scope, largest: int) -> None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host"), headers.get("origin")
        if not self._hosts.allows(host):
            raise Refused(403, "forbidden_host", "this server does not answer to that name")
        if origin is not None and not self._origins.allows(origin, host or ""):
            raise Refused(403, "forbidden_origin", "this request comes from a page of another site")
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length):
            raise Refused(400, "bad_request", "Content-Length: write the number of bytes, in decimal digits")
        if int(length) > largest:
            raise _too_large(largest)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = perf_counter(), 500

        async def send_and_record(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_record)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(perf_counter() - started)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            headers = message.get("headers", ())
            present = {name for name, _ in headers}
            message["headers"] = [*headers, *(header for header in _HEADERS if header[0] not in present)]
        await send(message)

    return send_with_headers


def _limited(receive: Receive, deadlines: BodyDeadlines, largest: int) -> Receive:
    """Limit the size and the time of a body. After its end `receive` only waits for a disconnect."""
    length, complete = 0, False
    until = asyncio.get_running_loop().time() + deadlines.body_seconds

    async def receive_limited() -> Message:
        nonlocal length, complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(min(until, _seconds_from_now(deadlines.piece_seconds))):
                message = await receive()
        except TimeoutError:
            raise _too_slow(deadlines) from None
        complete = not message.get("more_body", False)
        length += len(message.get("body", b""))
        if length > largest:
            raise _too_large(largest)
        return message

    return receive_limited


def _seconds_from_now(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


def _too_slow(deadlines: BodyDeadlines) -> Refused:
    return Refused(
        408,
        "too_slow",
        f"the rest of the body did not arrive: data must arrive every {deadlines.piece_seconds:g} s, "
        f"and all of it within {deadlines.body_seconds:g} s; send it again",
        headers={"Connection": "close"},
    )


def _too_large(largest: int) -> Refused:
    return Refused(413, "too_large", f"a body has at most {largest:,} bytes here; send less")


def _name(host: str | None) -> str | None:
    """The host name of a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        return None


def _origin(text: str) -> str:
    """An origin as browsers write it. Raises BadSetting."""
    try:
        parts = urlsplit(text.lower().rstrip("/"))
        host, port = _host_and_port(parts.netloc, parts.scheme)
    except (KeyError, ValueError):
        raise _not_an_origin(text) from None
    if not host or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise _not_an_origin(text)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + ("" if port == _USUAL_PORTS[parts.scheme] else f":{port}")


def _not_an_origin(text: str) -> BadSetting:
    return BadSetting(
        f"allowed_origins: {text!r} is not an origin; write its scheme, its host, and its port unless it is "
        "the usual one: https://app.example.org or http://localhost:5173"
    )


def _is_same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and _host_and_port(
            parts.netloc, parts.scheme
        ) == _host_and_port(host, parts.scheme)
    except ValueError:
        return False


def _host_and_port(netloc: str, scheme: str) -> tuple[str | None, int]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname, parts.port or _USUAL_PORTS[scheme]
