"""Which addresses of the net may be reached from here.

A machine that runs agents stands next to things that trust it: a router's page, a database, a cloud's
metadata. A model that reads a stranger's page must not become that stranger's hand there.
"""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
"""Where clouds hand out credentials. Nobody means these, not even where private addresses are allowed."""

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL = IPv6Network("2000::/3")
_LOCAL = (IPv6Network("fc00::/7"), IPv6Network("::1/128"))
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


def literal(host: str) -> Address | None:
    """The address that a host is written as, or None for a name.

    ValueError for the other spellings of an address (`2130706433`, `0x7f.1`, `0177.0.0.1`): they exist to be
    read differently by two readers.
    """
    if ":" in host:
        return IPv6Address(host)
    if _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return IPv4Address(host)
    return None


def allowed(address: Address, *, private: bool) -> bool:
    """Whether to go there. `private`: the house's own machine and network are allowed too."""
    if isinstance(address, IPv6Address) and address.scope_id:
        return False
    meant = _meant(address)
    if meant in _METADATA or meant.is_multicast or meant.is_unspecified or meant.is_link_local:
        return False
    if isinstance(meant, IPv4Address):
        return meant.is_global or (private and not meant.is_reserved)
    if meant in _GLOBAL:
        return meant.is_global or private
    return private and any(meant in network for network in _LOCAL)


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one only wraps."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address
