"""HTTP transport of a client: sends requests, repeats those that may be repeated, reads event streams.

A request that reads, or that has an idempotency key, is repeated when the connection fails: the server does
it once. Another request is not, because its first try may have been done.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, urlsplit
from uuid import uuid4

from segue.client.parse import JSON
from segue.client.problems import check_version, error_of, unreadable
from segue.errors import BadSetting, Invalid, ServerUnreachable
from segue.extras import needed_for
from segue.times.clock import Clock, SystemClock

with needed_for("`segue.client`", "client"):
    import httpx2

T = TypeVar("T")
P = ParamSpec("P")

_VERSION = "x-segue-version"
_PAUSES_MS = (100, 300, 1000)
"""Before each repetition of a request."""
_SILENCE_SECONDS = 45.0
"""An event stream sends a comment every 15 seconds. After three times as long its connection is dead."""
_LARGEST_PAGE = 500
_BEHIND_A_PROXY = (502, 503, 504)
"""What a proxy answers while the server restarts; such a response has no version."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Transport:
    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        user: str | None = None,
        timeout: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        self.address = _checked(url)
        self._user = user
        self._timeout = timeout
        self._clock = clock or SystemClock()
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=timeout,
            # A proxy of the environment cannot reach a server on this machine.
            trust_env=urlsplit(self.address).hostname not in _LOOPBACK,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, *path: str | int, wait: float = 0, **params: Any) -> "ServerAnswer":
        return await self._send("GET", path, params=params, repeatable=True, wait=wait)

    async def create(
        self, *path: str | int, body: JSON, idempotency_key: str | None = None, **params: Any
    ) -> "ServerAnswer":
        """POST what makes something, under an idempotency key."""
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex}
        return await self._send("POST", path, body=body, params=params, headers=headers, repeatable=True)

    async def post(self, *path: str | int, body: JSON | None = None, **params: Any) -> "ServerAnswer":
        return await self._send("POST", path, body=body, params=params)

    async def upload(
        self, *path: str | int, content: bytes, idempotency_key: str | None = None, **params: Any
    ) -> "ServerAnswer":
        """POST the bytes of a file, under an idempotency key."""
        headers = {
            "Idempotency-Key": idempotency_key or uuid4().hex,
            "Content-Type": "application/octet-stream",
        }
        return await self._send(
            "POST", path, content=content, params=params, headers=headers, repeatable=True
        )

    async def patch(self, *path: str | int, body: JSON) -> "ServerAnswer":
        return await self._send("PATCH", path, body=body)

    async def delete(self, *path: str | int, **params: Any) -> "ServerAnswer":
        return await self._send("DELETE", path, params=params)

    async def pages(
        self, name: str, *path: str | int, limit: int, read: Callable[[JSON], T], **params: Any
    ) -> list[T]:
        """The items of a list, up to `limit`, page after page."""
        found: list[T] = []
        cursor = None
        while len(found) < limit:
            size = min(limit - len(found), _LARGEST_PAGE)
            page = await self.get(*path, limit=size, cursor=cursor, **params)
            found += [item.read(read) for item in page.items(name)]
            cursor = page.data.get("next_cursor")
            if cursor is None:
                break
        return found

    @asynccontextmanager
    async def events(self, *path: str | int, **params: Any) -> AsyncIterator[AsyncIterator[JSON]]:
        """An event stream (server-sent events). It ends when the server closes it or the connection fails."""
        async with self.download(*path, silence=_SILENCE_SECONDS, **params) as response:
            yield _events_in(response)

    async def text(self, *path: str | int, **params: Any) -> AsyncGenerator[str]:
        """A response that is a text, piece by piece. Raises `ServerUnreachable` if its end is missing."""
        async with self.download(*path, **params) as response:
            try:
                async for piece in response.aiter_text():
                    yield piece
            except httpx2.TransportError as error:
                raise self._unreachable(error) from error

    @asynccontextmanager
    async def download(
        self, *path: str | int, silence: float | None = None, **params: Any
    ) -> AsyncIterator[httpx2.Response]:
        """A response whose headers were read. `silence`: the longest pause between its bytes, in seconds."""
        timeout = httpx2.Timeout(self._timeout, read=silence or self._timeout)
        request = self._request("GET", path, params=params, timeout=timeout)
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error
        try:
            if response.status_code != 200:
                await response.aread()
            self._answer(response, parsed=False)
            yield response
        finally:
            await response.aclose()

    async def pause(self, ms: int) -> None:
        await self._clock.wait(asyncio.Event(), self._clock.ms() + ms)

    async def _send(
        self,
        method: str,
        path: Sequence[str | int],
        *,
        params: Mapping[str, Any] | None = None,
        body: JSON | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        wait: float = 0,
    ) -> "ServerAnswer":
        params = {**(params or {}), "wait": wait or None}
        timeout = httpx2.Timeout(self._timeout, read=self._timeout + wait)
        for pause in (*_PAUSES_MS, None):
            request = self._request(
                method, path, params=params, body=body, content=content, headers=headers, timeout=timeout
            )
            try:
                return self._answer(await self._http.send(request))
            except httpx2.TransportError as error:
                if not repeatable or pause is None:
                    raise self._unreachable(error) from error
            except ServerUnreachable:
                if not repeatable or pause is None:
                    raise
            await self.pause(pause)
        raise AssertionError("the last try returns or raises")

    def _request(
        self,
        method: str,
        path: Sequence[str | int],
        *,
        params: Mapping[str, Any],
        timeout: httpx2.Timeout,
        body: JSON | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Request:
        given = {name: value for name, value in {**params, "user": self._user}.items() if value is not None}
        url = "/".join([self.address, *(quote(str(part), safe="") for part in path)])
        return self._http.build_request(
            method,
            url,
            params=given,
            json=body,
            content=content,
            headers=dict(headers or {}),
            timeout=timeout,
        )

    def _answer(self, response: httpx2.Response, *, parsed: bool = True) -> "ServerAnswer":
        version = response.headers.get(_VERSION)
        if version is None and response.status_code in _BEHIND_A_PROXY:
            raise ServerUnreachable(
                f"{self.address} is not available ({response.status_code}); try again later"
            )
        check_version(version, self.address)
        if not response.is_success and not _is_health(response):
            raise error_of(response.status_code, _problem(response))
        return ServerAnswer(
            response.json() if parsed else None,
            address=self.address,
            version=version or "",
            status=response.status_code,
        )

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            f"{self.address} did not answer ({str(error) or type(error).__name__}); is it running?"
        )


class ServerAnswer:
    """The JSON of a response, or an item of its list."""

    def __init__(self, data: Any, *, address: str, version: str, status: int = 200) -> None:
        self.data = data
        self.status = status
        self._address = address
        self._version = version

    def read(self, parse: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The record of the JSON. Raises `WrongServer` if it does not have the shape of this version."""
        try:
            return parse(self.data, *args, **kwargs)
        except (KeyError, TypeError, ValueError, Invalid) as error:
            raise unreadable(self._version, self._address, error) from error

    def items(self, name: str) -> list["ServerAnswer"]:
        return [
            ServerAnswer(item, address=self._address, version=self._version)
            for item in self.read(itemgetter(name))
        ]


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSetting(f"url: {url!r} is not an address such as http://localhost:8000")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadSetting("url: give the scheme, the host and the path only, and the key as `key=`")
    return url.rstrip("/")


def _is_health(response: httpx2.Response) -> bool:
    """A health check answers 503 with a status, not with an error."""
    return response.status_code == 503 and response.headers.get("content-type") == "application/json"


def _problem(response: httpx2.Response) -> dict[str, Any]:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


async def _events_in(response: httpx2.Response) -> AsyncIterator[JSON]:
    rest = b""
    try:
        async for piece in response.aiter_bytes():
            # Not by `aiter_lines`, which also divides at characters that JSON may contain.
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
    except httpx2.TransportError:  # the server ended or the network failed: the caller connects again
        return
