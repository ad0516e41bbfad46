"""Once: a call that may reach us twice does its work the first time, and answers the same both times.

The caller names the call. Its name, its work and its result are one transaction, so there is no moment at
which one is there without the others: not for two that come at once, and not after a crash.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from segue.errors import NameTaken
from segue.model.records import Owner
from segue.record import record
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

T = TypeVar("T")


@record
class Request:
    """A call by the name that its caller gave it."""

    owner: Owner
    name: str
    digest: str
    """Of what was asked: the same name for something else is a mistake."""


def run_once(
    request: Request | None,
    work: Callable[[], Transaction[T]],
    now: int,
    *,
    keep: Callable[[T], Mapping[str, Any]],
    again: Callable[[Mapping[str, Any]], Transaction[T]],
) -> Transaction[T]:
    """The work, unless it was done under this name before: then its result, made from what was kept.

    Work that raises leaves no name behind, and may be tried again.
    """
    if request is None:
        return (yield from work())
    name = {"account": request.owner.account, "user_id": request.owner.user, "name": request.name}
    taken = yield queries.requests.take, {**name, "digest": request.digest, "now": now}
    if not taken:
        found = yield queries.requests.by_name, name
        if found[0]["digest"] != request.digest:
            raise NameTaken(
                f"{request.name!r} was the name of another request; use a new one for a new request"
            )
        return (yield from again(rows.from_text(found[0]["result"])))
    result = yield from work()
    yield queries.requests.keep, {**name, "result": rows.to_text(keep(result))}
    return result
