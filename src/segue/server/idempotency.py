"""The `Idempotency-Key` header: names a request, so that a repeated one returns the stored result."""

from hashlib import sha256
from typing import Annotated, TypeAlias

from fastapi import Header

from segue.kernel.transactions import idempotency
from segue.server.request_context import AuthenticatedRequest

LONGEST = 200

IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST,
        pattern=r"^[\x21-\x7e]+$",
        description="A name of your choice: within a day, a repeat under it answers the first result.",
    ),
]


async def named(asked: AuthenticatedRequest, name: str | None) -> idempotency.Request | None:
    if name is None:
        return None
    # What a request asks for is its route and its body; how long it is willing to wait is not.
    wanted = f"{asked.method} {asked.url.path}\n".encode("utf-8", "surrogatepass") + await asked.body()
    return idempotency.Request(owner=asked.owner.own, name=name, digest=sha256(wanted).hexdigest())
