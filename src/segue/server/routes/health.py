"""Operations: is it well, and what does it count."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from segue import __version__
from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.metrics import MEDIA_TYPE
from segue.server.request_context import app_state
from segue.server.schemas import common

router = APIRouter(tags=["Operations"])

CAPABILITIES = (
    *("sessions", "turns", "messages", "automations", "runs", "recalls", "memory", "auto_commit"),
    *("websocket", "sse", "idempotency"),
)

Ready = Annotated[bool, Query(description="Answer 503 unless the status is `ok`.")]


@router.get(
    "/health",
    summary="Is it well?",
    responses={
        503: {"description": "The database does not answer, or it is not ready.", "model": common.Health},
        **responses(422),
    },
)
async def health(request: Request, response: Response, ready: Ready = False) -> common.Health:
    """Needs no key: it tells nothing about anyone.

    `degraded`: it answers, but the last write failed or due work is not done; `reason` says why. That is 200,
    because a restart would not help; with `ready=true` it is 503.
    """
    house = app_state(request)
    found = await house.checkup.examine(working=house.working if house.run_workers else None)
    if found.status == "unavailable" or (ready and found.status != "ok"):
        response.status_code = 503
    return common.Health.model_validate(
        {
            "status": found.status,
            "reason": found.reason,
            "version": __version__,
            "database": house.kernel.store.database.dialect,
            "capabilities": list(CAPABILITIES),
            "scheduler": {"alive": found.alive, "lag_ms": found.lag_ms},
        }
    )


@router.get(
    "/metrics",
    summary="What is counted",
    response_class=Response,
    responses={
        200: {"description": "In Prometheus's text format.", "content": {"text/plain": {}}},
        **responses(401, 403, 503),
    },
)
async def metrics(request: Request) -> Response:
    """For keys of the role admin."""
    house = app_state(request)
    require_admin(house.caller(request))
    house.metrics.lag.set(await house.checkup.lag_ms() / 1000)
    return Response(house.metrics.text(), media_type=MEDIA_TYPE)
