"""Checked addresses: resolves a host once and returns an address that may be connected to.

To prevent DNS rebinding, every address of the host is checked, and the connection must go to the one that is
returned.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TypeAlias

from segue.agents.tools.allowed_hosts import Address, allowed, literal

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a name and a port to addresses."""


class AddressRefused(Exception):
    """The host has no address that may be connected to."""


async def resolve(host: str, port: int) -> list[str]:
    """Resolve with the machine's resolver."""
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


async def checked_address(
    host: str, port: int, *, private: bool, loopback: bool = False, resolve: Resolve = resolve
) -> Address:
    """Return an address of the host. Raises `AddressRefused`.

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
            raise AddressRefused(f"{host} is not a public address, or leads to none")
    return addresses[0]


async def _resolved(host: str, port: int, resolve: Resolve) -> list[Address]:
    try:
        answers = [ip_address(answer) for answer in await resolve(host, port)]
    except (OSError, ValueError):
        answers = []
    if not answers:
        raise AddressRefused(f"there is no host of the name {host}")
    return answers
