"""Authentication: by a key, by a cookie that was issued for a key, or by the application's own function.

Invariants
  - a given key is compared with every configured key in constant time, whether or not one matched
  - a cookie is signed with its key: removing the key revokes it, and no server stores cookies
  - without keys and without a function every caller is the operator, and only this machine is admitted
"""

import base64
import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from fastapi import Request
from starlette.requests import HTTPConnection

from segue.config import ApiKey, Role
from segue.model.records import Asker, Operator, Owner
from segue.record import positional
from segue.server.error_responses import Refused

COOKIE = "segue_session"
COOKIE_SECONDS = 12 * 3600


@positional
class Caller:
    """Who makes a request: the owner of the sessions, and what else the caller may do."""

    owner: Owner
    role: Role = Role.USER

    def asking_for(self, user: str | None) -> Asker:
        """The owner that the caller acts for: an admin for the whole account, or for the given user.

        Raises Refused (404) if a caller who is not an admin names another user.
        """
        if user is None and self.role is Role.ADMIN:
            return Operator(*self.owner)
        if user is None or user == self.owner.user:
            return self.owner
        if self.role is not Role.ADMIN:
            raise Refused(404, "not_found", f"there is no user {user} here")
        return Owner(self.owner.account, user)


LOCAL_OPERATOR = Caller(Owner(), Role.ADMIN)
"""The caller on a server without keys."""

FindCaller: TypeAlias = Callable[[HTTPConnection], Awaitable[Caller | None]]
"""The application's own authentication: returns the caller of a request, or None to refuse it."""


class ApiKeys:
    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._callers = [(each.key.reveal().encode(), _caller(each)) for each in keys]

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller_by_key(self, key: str) -> Caller | None:
        given = hashlib.sha256(key.encode("utf-8", "replace")).digest()
        matched = None
        for known, caller in self._callers:
            if hmac.compare_digest(hashlib.sha256(known).digest(), given):
                matched = caller
        return matched

    def has_owner(self, owner: Owner) -> bool:
        """Whether one of the keys is this owner's."""
        return any(caller.owner == owner for _, caller in self._callers)

    def cookie_for(self, key: str, now_ms: int) -> str:
        until = now_ms // 1000 + COOKIE_SECONDS
        return f"{until}.{_signature(key.encode('utf-8', 'replace'), until)}"

    def caller_by_cookie(self, cookie: str, now_ms: int) -> Caller | None:
        until, _, signature = cookie.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 12) or int(until) * 1000 < now_ms:
            return None
        matched = None
        for known, caller in self._callers:
            expected = _signature(known, int(until))
            if hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
                matched = caller
        return matched


async def authenticate(
    connection: HTTPConnection, keys: ApiKeys, find_caller: FindCaller | None, now_ms: int
) -> Caller:
    if find_caller is not None:
        return await _found(find_caller, connection)
    if not keys:
        return _local_operator(connection)
    scheme, _, key = connection.headers.get("authorization", "").partition(" ")
    caller = None
    if scheme:
        caller = keys.caller_by_key(key.strip()) if scheme.lower() == "bearer" else None
    elif cookie := connection.cookies.get(COOKIE):
        caller = keys.caller_by_cookie(cookie, now_ms)
    if caller is None:
        raise Refused(
            401,
            "unauthorized",
            "a valid API key is required: `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return caller


async def _found(find_caller: FindCaller, connection: HTTPConnection) -> Caller:
    caller: object = await find_caller(connection)
    if caller is None:
        raise Refused(401, "unauthorized", "the application does not know who sent this; log in there first")
    if not isinstance(caller, Caller):
        raise TypeError(f"`caller` must return a segue.server.Caller or None, not {caller!r}")
    return caller


def _local_operator(connection: HTTPConnection) -> Caller:
    if not is_local(connection):
        raise Refused(
            403,
            "forbidden_peer",
            "this server has no API keys, so it admits only this machine; set `api_keys`, or mount it with "
            "`caller=` and the application's own login",
        )
    return LOCAL_OPERATOR


def require_admin(caller: Caller) -> None:
    if caller.role is not Role.ADMIN:
        raise Refused(403, "forbidden", "this is for keys of the role admin")


def uses_tls(request: Request) -> bool:
    """Whether the request came over TLS, as far as this server sees."""
    return request.url.scheme == "https"


def _caller(key: ApiKey) -> Caller:
    return Caller(Owner(key.account, key.user), key.role)


def _signature(key: bytes, until: int) -> str:
    digest = hmac.digest(key, b"segue cookie until %d" % until, "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


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
