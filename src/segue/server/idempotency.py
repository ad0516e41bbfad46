"""The `Idempotency-Key` header: a repeated request with the same key returns the stored result."""

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
        description="Any unique text. A repeat with the same key within a day returns the first result.",
    ),
]


async def idempotency_request(request: AuthenticatedRequest, name: str | None) -> idempotency.Request | None:
    if name is None:
        return None
    # Query parameters are left out: a repeat may use another `wait`.
    content = f"{request.method} {request.url.path}\n".encode("utf-8", "surrogatepass") + await request.body()
    return idempotency.Request(owner=request.owner.own, name=name, digest=sha256(content).hexdigest())
