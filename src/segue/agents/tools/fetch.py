"""`fetch_url` tool: fetches a page or a document from the internet as text.

It connects only to public addresses, unless the settings allow private ones. Each redirect is checked in the
same way.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from segue.agents.tools.allowed_hosts import Address
from segue.agents.tools.arguments import flat
from segue.agents.tools.guarded_address import Resolve, Target, checked_address, resolve, target_of
from segue.agents.tools.html_text import html_to_text
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.extras import needed_for
from segue.record import positional

if TYPE_CHECKING:
    import httpx2

LARGEST_BODY = 2_000_000
MOST_REDIRECTS = 5
_CONNECT_SECONDS = 5.0
_TOTAL_SECONDS = 20.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
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
class _Fetch:
    client: "httpx2.AsyncClient"
    resolve: Resolve
    private: bool

    async def text(self, url: str) -> str:
        for _ in range(MOST_REDIRECTS + 1):
            target = target_of(url)
            address = await checked_address(
                target.host, target.port, private=self.private, resolve=self.resolve
            )
            request = self._request(target, address)
            response = await self.client.send(request, stream=True, follow_redirects=False)
            try:
                if response.status_code not in _REDIRECTS or "location" not in response.headers:
                    return await _read(url, response)
                url = urljoin(url, response.headers["location"])
            finally:
                await response.aclose()
        raise ToolRefused(f"{url} redirects more than {MOST_REDIRECTS} times")

    def _request(self, target: Target, address: Address) -> "httpx2.Request":
        """Build a request to that address that names the host."""
        return self.client.build_request(
            "GET",
            target.url_at(address),
            headers={
                "Host": target.host_header,
                "User-Agent": "segue",
                "Accept": "text/html, text/*;q=0.9, application/json;q=0.9",
                # A compressed body could expand beyond the size limit while it is read.
                "Accept-Encoding": "identity",
            },
            extensions={"sni_hostname": target.host},
        )


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
