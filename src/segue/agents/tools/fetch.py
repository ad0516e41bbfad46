"""`fetch_url` tool: fetches a page or a document from the internet as text.

It connects only to public addresses, unless the settings allow private ones. To prevent DNS rebinding, a name
is resolved once, every address is checked, and the connection goes to a checked address, with the name in
`Host` and in the TLS handshake. Each redirect is checked in the same way. Proxies of the environment are not
used, because they would resolve names themselves.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from segue.agents.tools.allowed_hosts import Address
from segue.agents.tools.arguments import flat
from segue.agents.tools.checked_address import AddressRefused, Resolve, checked_address, resolve
from segue.agents.tools.html_text import html_to_text
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.extras import needed_for
from segue.record import positional

if TYPE_CHECKING:
    import httpx2

LARGEST_BODY = 2_000_000
MOST_REDIRECTS = 5
LONGEST_URL = 2_000
_CONNECT_SECONDS = 5.0
_TOTAL_SECONDS = 20.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
_READABLE = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")


def fetch_tool(
    *,
    private: bool = False,
    resolve: Resolve = resolve,
    transport: "httpx2.AsyncBaseTransport | None" = None,
) -> Tool:
    """Return the tool. `private` lets it reach this machine and its network; `transport` is for tests."""

    async def fetch_url(context: ToolContext, url: str) -> str:
        # The first import is slow; in a thread it does not block other turns.
        with needed_for("fetch_url", "model"):
            await asyncio.to_thread(import_module, "httpx2")
        import httpx2

        timeout = httpx2.Timeout(_TOTAL_SECONDS, connect=_CONNECT_SECONDS)
        try:
            async with (
                asyncio.timeout(_TOTAL_SECONDS),
                httpx2.AsyncClient(trust_env=False, timeout=timeout, transport=transport) as client,
            ):
                return await _Fetch(client, resolve, private).text(url)
        except TimeoutError:
            raise ToolRefused(f"{url} did not answer within {_TOTAL_SECONDS:g} seconds") from None
        except httpx2.HTTPError as error:
            raise ToolRefused(f"{url} could not be fetched: {str(error) or type(error).__name__}") from None

    return Tool(
        name="fetch_url",
        description="Fetch a page or document from the internet by its address, as plain text.",
        parameters=flat(
            {"url": {"type": "string", "description": "an http or https address"}}, required=("url",)
        ),
        run=fetch_url,
        timeout_seconds=_TOTAL_SECONDS + 5,
        outside=True,
    )


@positional
class _Target:
    """The parts of a URL that may be fetched, if its address is allowed."""

    scheme: str
    host: str
    port: int
    rest: str
    """Path and query."""

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


@positional
class _Fetch:
    client: "httpx2.AsyncClient"
    resolve: Resolve
    private: bool

    async def text(self, url: str) -> str:
        for _ in range(MOST_REDIRECTS + 1):
            target = _target(url)
            request = self._request(target, await self._address(target))
            response = await self.client.send(request, stream=True, follow_redirects=False)
            try:
                if response.status_code not in _REDIRECTS or "location" not in response.headers:
                    return await _read(url, response)
                url = urljoin(url, response.headers["location"])
            finally:
                await response.aclose()
        raise ToolRefused(f"{url} redirects more than {MOST_REDIRECTS} times")

    async def _address(self, target: _Target) -> Address:
        try:
            return await checked_address(target.host, target.port, private=self.private, resolve=self.resolve)
        except AddressRefused as refusal:
            raise ToolRefused(f"{refusal}; it is not fetched") from None

    def _request(self, target: _Target, address: Address) -> "httpx2.Request":
        """Build a request to that address that names the host."""
        netloc = f"[{address}]" if address.version == 6 else str(address)
        return self.client.build_request(
            "GET",
            f"{target.scheme}://{netloc}:{target.port}{target.rest}",
            headers={
                "Host": target.host_header,
                "User-Agent": "segue",
                "Accept": "text/html, text/*;q=0.9, application/json;q=0.9",
                # A compressed body could expand beyond the size limit while it is read.
                "Accept-Encoding": "identity",
            },
            extensions={"sni_hostname": target.host},
        )


def _target(url: str) -> _Target:
    """Return the parts of a URL. Raises `ToolRefused` if it is not fetched."""
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url or "\\" in url:
        raise ToolRefused(f"{url[:100]!r} is no web address: it is too long, or holds what none has")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
    except ValueError:
        raise ToolRefused(f"{url} is no web address; write it as in https://example.org/page") from None
    if parts.scheme not in _PORTS:
        raise ToolRefused(f"only http and https are fetched, got {parts.scheme or url!r}")
    if "@" in parts.netloc:
        raise ToolRefused("an address with a user's name or password in it is not fetched")
    if not host:
        raise ToolRefused(f"{url} names no host; write it as in https://example.org/page")
    query = f"?{parts.query}" if parts.query else ""
    return _Target(parts.scheme, host, port or _PORTS[parts.scheme], f"{parts.path or '/'}{query}")


async def _read(url: str, response: "httpx2.Response") -> str:
    if response.status_code != 200:
        raise ToolRefused(f"{url} answered {response.status_code} {response.reason_phrase}".rstrip())
    kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not kind.startswith(_READABLE) and not kind.endswith(("+json", "+xml")):
        raise ToolRefused(f"{url} is {kind}, which is not text")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ToolRefused(f"{url} was sent compressed, though that was not asked for; it is not read")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise ToolRefused(f"{url} is larger than {LARGEST_BODY:,} bytes")
    text = _decoded(bytes(body), response.charset_encoding)
    return await asyncio.to_thread(html_to_text, text) if "html" in kind else text


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:  # unknown charset
        return body.decode("utf-8", "replace")
