"""Operations: is it well, and what does it count."""

from fastapi import APIRouter, Request, Response

from segue import __version__
from segue.errors import StoreError
from segue.server import schema
from segue.server.auth import require_admin
from segue.server.errors import responses
from segue.server.house import House, house_of
from segue.server.metrics import MEDIA_TYPE

router = APIRouter(tags=["Operations"])

CAPABILITIES = (
    *("sessions", "turns", "messages", "automations", "runs", "recalls", "memory", "auto_commit"),
    *("websocket", "sse", "idempotency"),
)

TOO_LATE_MS = 10_000
"""A job that is overdue by more than this says that nobody works."""


@router.get(
    "/health",
    summary="Is it well?",
    responses={503: {"description": "The database does not answer.", "model": schema.Health}},
)
async def health(request: Request, response: Response) -> schema.Health:
    """For everybody: it tells nothing about anyone."""
    house = house_of(request)
    try:
        lag_ms = await _lag_ms(house)
    except StoreError:
        response.status_code = 503
        return _health(house, "unavailable", alive=False, lag_ms=0)
    alive = house.working if house.run_workers else lag_ms < TOO_LATE_MS
    return _health(house, "ok" if alive else "degraded", alive=alive, lag_ms=lag_ms)


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
    house = house_of(request)
    require_admin(house.caller(request))
    house.metrics.lag.set(await _lag_ms(house) / 1000)
    return Response(house.metrics.text(), media_type=MEDIA_TYPE)


async def _lag_ms(house: House) -> int:
    due = await house.kernel.store.next_due()
    return 0 if due is None else max(0, house.kernel.clock.ms() - due)


def _health(house: House, status: str, *, alive: bool, lag_ms: int) -> schema.Health:
    return schema.Health.model_validate(
        {
            "status": status,
            "version": __version__,
            "database": house.kernel.store.database.dialect,
            "capabilities": list(CAPABILITIES),
            "scheduler": {"alive": alive, "lag_ms": lag_ms},
        }
    )
