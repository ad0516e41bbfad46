"""`Idempotency-Key`: the name of a request, so that a repeat answers the first result (`segue.once`)."""

from hashlib import sha256
from typing import Annotated, TypeAlias

from fastapi import Depends, Header, Request

from segue import once
from segue.server.house import CallerOf

LONGEST = 200


async def _named(
    request: Request,
    caller: CallerOf,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=LONGEST,
            pattern=r"^[\x21-\x7e]+$",
            description="A name of your choice: within a day, a repeat under it answers the first result.",
        ),
    ] = None,
) -> once.Request | None:
    if idempotency_key is None:
        return None
    # What a request asks for is its route and its body; how long it is willing to wait is not.
    asked = f"{request.method} {request.url.path}\n".encode("utf-8", "surrogatepass") + await request.body()
    return once.Request(owner=caller.owner, name=idempotency_key, digest=sha256(asked).hexdigest())


Named: TypeAlias = Annotated[once.Request | None, Depends(_named)]
