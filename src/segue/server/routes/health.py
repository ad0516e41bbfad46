"""Routes for operators: health and metrics."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from segue import __version__
from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.metrics import MEDIA_TYPE
from segue.server.request_context import app_state
from segue.server.schemas import system

router = APIRouter(tags=["Operations"])

CAPABILITIES = (
    *("sessions", "turns", "messages", "automations", "runs", "recalls", "memory", "auto_commit"),
    *("websocket", "sse", "idempotency"),
)

Ready = Annotated[bool, Query(description="Answer 503 unless the status is `ok`.")]


@router.get(
    "/health",
    summary="Check the health",
    responses={
        503: {
            "description": "The database does not answer, or the server is not ready.",
            "model": system.Health,
        },
        **responses(422),
    },
)
async def check_health(request: Request, response: Response, ready: Ready = False) -> system.Health:
    """Needs no key, because it reveals nothing about users.

    `degraded` means that the last write failed or that due jobs do not run; `reason` says why. The status
    code is 200, because a restart would not help. With `ready=true` it is 503.
    """
    state = app_state(request)
    health_state = await state.kernel.health.check(workers_running=state.workers_running)
    if health_state.status == "unavailable" or (ready and health_state.status != "ok"):
        response.status_code = 503
    return system.Health.model_validate(
        {
            "status": health_state.status,
            "reason": health_state.reason,
            "version": __version__,
            "database": state.kernel.health.database,
            "capabilities": list(CAPABILITIES),
            "scheduler": {"alive": health_state.alive, "lag_ms": health_state.lag_ms},
        }
    )


@router.get(
    "/metrics",
    summary="Get metrics",
    response_class=Response,
    responses={
        200: {"description": "Metrics in the Prometheus text format.", "content": {"text/plain": {}}},
        **responses(401, 403, 503),
    },
)
async def get_metrics(request: Request) -> Response:
    """Requires a key with the role admin."""
    state = app_state(request)
    require_admin(await state.caller(request))
    state.metrics.lag.set(await state.kernel.health.lag_ms() / 1000)
    return Response(state.metrics.text(), media_type=MEDIA_TYPE)
