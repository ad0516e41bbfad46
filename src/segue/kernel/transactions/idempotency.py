"""Idempotency keys: a repeated request returns the stored result of the first.

The caller names the request. The name, the work and the result are stored in one transaction, so neither two
requests at once nor a crash can leave one without the others.
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
    """An idempotency key: a verb that gets one does its work once, and returns the first result for a day.

    Raises `NameTaken` if the same name comes with another `digest`.
    """

    owner: Owner
    name: str
    digest: str
    """A hash of the request's content."""


def run_once(
    request: Request,
    work: Callable[[], Transaction[T]],
    now: int,
    *,
    keep: Callable[[T], Mapping[str, Any]],
    again: Callable[[Mapping[str, Any]], Transaction[T]],
) -> Transaction[T]:
    """Do the work, or return the result that an earlier request of this name stored.

    `keep` serialises the result; `again` makes it from that. Work that raises stores no name and may be
    retried. `NameTaken`: the name was used for a request with other content.
    """
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
