"""Web sites for `fetch_url`: a real server on loopback, a transport that leads to it, and a resolver."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx2


class Site:
    """Answers each path with given bytes, and records the requests."""

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        self._pages = pages
        self.asked: list[str] = []
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.asked.append(head)
            writer.write(
                self._pages.get(head.split()[1], b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", *headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = ["HTTP/1.1 200 OK", f"content-type: {kind}", f"content-length: {len(content)}", *headers]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode() + content


def redirect(to: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()


class Net(httpx2.AsyncBaseTransport):
    """Connects every request to the site, and records the address and the host name it was meant for."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._real = httpx2.AsyncHTTPTransport()
        self.dialled: list[tuple[str, str, str]] = []
        """Address, `Host`, name for the TLS handshake."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        name = str(request.extensions["sni_hostname"])
        self.dialled.append((request.url.host, request.headers["host"], name))
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._site.port)
        return await self._real.handle_async_request(request)

    async def aclose(self) -> None:
        await self._real.aclose()


class Names:
    """A fake resolver. A name with several answers gives the next one each time it is resolved."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self._answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        given = self._answers.get(host)
        if given is None:
            raise OSError("no such name")
        return list(given.pop(0) if len(given) > 1 else given[0])
