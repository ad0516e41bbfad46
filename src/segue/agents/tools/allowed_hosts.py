"""SSRF protection: decides which IP addresses `fetch_url` may connect to.

A machine that runs agents can reach services that trust its network: a router, a database, a cloud's metadata
endpoint. A hostile page must not be able to make a model call them.
"""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
"""Metadata endpoints, where clouds hand out credentials. Refused even if private addresses are allowed."""

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL = IPv6Network("2000::/3")
_LOCAL = (IPv6Network("fc00::/7"), IPv6Network("::1/128"))
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


def literal(host: str) -> Address | None:
    """Return the IP address that the host is written as, or None for a name.

    Raises ValueError for unusual spellings (`2130706433`, `0x7f.1`, `0177.0.0.1`): parsers disagree on them,
    which attacks use.
    """
    if ":" in host:
        return IPv6Address(host)
    if _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return IPv4Address(host)
    return None


def allowed(address: Address, *, private: bool) -> bool:
    """Whether to connect to it. `private`: this machine and its network are allowed too."""
    if isinstance(address, IPv6Address) and address.scope_id:
        return False
    target = _unwrapped(address)
    if target in _METADATA or target.is_multicast or target.is_unspecified or target.is_link_local:
        return False
    if isinstance(target, IPv4Address):
        return target.is_global or (private and not target.is_reserved)
    if target in _GLOBAL:
        return target.is_global or private
    return private and any(target in network for network in _LOCAL)


def _unwrapped(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds, else the address itself."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address
