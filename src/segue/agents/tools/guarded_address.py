"""Guard of outgoing calls: resolves a host once, and checks every address before a connection is made.

To prevent DNS rebinding, the connection goes to a checked address, with the name in `Host` and in the TLS
handshake. Proxies of the environment are not used, because they would resolve names themselves.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from segue.agents.tools.allowed_hosts import Address, allowed, literal
from segue.agents.tools.registry import ToolRefused
from segue.record import positional

LONGEST_URL = 2_000
_PORTS = {"http": 80, "https": 443}

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a name and a port to addresses."""


class AddressRefused(ToolRefused):
    """The host has no address that may be connected to."""


async def resolve(host: str, port: int) -> list[str]:
    """Resolve with the machine's resolver."""
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


@positional
class Target:
    """The parts of a URL that may be called, if its address is allowed."""

    scheme: str
    host: str
    port: int
    rest: str
    """Path and query."""

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def url_at(self, address: Address) -> str:
        """The URL with the checked address in place of the name."""
        netloc = f"[{address}]" if address.version == 6 else str(address)
        return f"{self.scheme}://{netloc}:{self.port}{self.rest}"


def target_of(url: str) -> Target:
    """Return the parts of a URL. Raises `ToolRefused` if it is not called."""
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
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], f"{parts.path or '/'}{query}")


async def checked_address(
    host: str, port: int, *, private: bool, loopback: bool = False, resolve: Resolve = resolve
) -> Address:
    """The address to connect to. Raises `AddressRefused`.

    `private`: this machine and its network are allowed too. `loopback`: this machine is.
    """
    try:
        written = literal(host)
    except ValueError:
        raise AddressRefused(f"{host} is an odd way to write an address; write it plainly") from None
    addresses = [written] if written is not None else await _resolved(host, port, resolve)
    for address in addresses:
        # One forbidden address refuses the host: mixing public and private ones is a sign of an attack.
        if not allowed(address, private=private) and not (loopback and address.is_loopback):
            raise AddressRefused(f"{host} is not a public address, or leads to none; it is not called")
    return addresses[0]


async def _resolved(host: str, port: int, resolve: Resolve) -> list[Address]:
    try:
        answers = [ip_address(answer) for answer in await resolve(host, port)]
    except (OSError, ValueError):
        answers = []
    if not answers:
        raise AddressRefused(f"there is no host of the name {host}")
    return answers
