"""Peers: whether a request comes from this machine, by the address of its connection."""

import ipaddress

from starlette.requests import HTTPConnection


def is_local(connection: HTTPConnection) -> bool:
    """Whether the peer is this machine, and so is every client that a proxy names in `X-Forwarded-For`.

    The `Host` header says nothing about it: any client can send `Host: localhost`.
    """
    if connection.client is None:
        return False
    forwarded = connection.headers.getlist("x-forwarded-for")
    clients = [client.strip() for line in forwarded for client in line.split(",")]
    return all(map(is_loopback, [connection.client.host, *clients]))


def is_loopback(name: str) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)
