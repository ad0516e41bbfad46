"""Resuming: finds the turn that a client connects to, which is running, was missed, or comes next.

So a scheduled turn reaches a client that did not ask for it. A cursor is the event number in the metadata
of a turn's frames. A turn is always sent from its start.
"""

from contextlib import aclosing
from typing import Annotated, TypeAlias

from fastapi import Query

from segue.kernel.kernel import Kernel
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.records import Event, Session
from segue.server.paging import LARGEST_SEQ
from segue.server.request_context import AuthenticatedRequest
from segue.server.routes.turns import LONGEST_WAIT
from segue.server.wires.conversation import Exchange

_PAGE = 500

After: TypeAlias = Annotated[
    int | None,
    Query(ge=0, le=LARGEST_SEQ, description="The cursor of the last turn. Default: the running turn."),
]
Wait: TypeAlias = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the next turn if there is none.")
]


async def turn_after(
    request: AuthenticatedRequest, session: Session, after: int | None, wait: float
) -> Exchange | None:
    """The running turn of a session, or the first one after a cursor. Waits up to `wait` for the next one."""
    kernel = request.kernel
    lane = await kernel.sessions.lane_of(session)  # its log has the cursors
    if after is None:
        running = await kernel.turns.running(session)
        found = None if running is None else running.id
        after = lane.last_seq
    else:
        found = await _first_start(kernel, lane, session, after)
    if found is None and wait:
        try:
            async with request.app_state.waiting(wait):
                found = await _next_start(kernel, lane, session, after)
        except TimeoutError:
            pass
    if found is None:
        return None
    return Exchange(key=session.key, turn=QueuedTurn(turn_id=found, session_id=lane.id))


async def _first_start(kernel: Kernel, lane: Session, session: Session, after: int) -> str | None:
    while page := await kernel.log.events(lane, after=after, limit=_PAGE):
        for event in page:
            if _starts_in(event, session):
                return event.turn_id
        after = page[-1].seq
    return None


async def _next_start(kernel: Kernel, lane: Session, session: Session, after: int) -> str | None:
    async with aclosing(kernel.follow(lane, after=after)) as items:
        async for item in items:
            if isinstance(item, Event) and _starts_in(item, session):
                return item.turn_id
    return None


def _starts_in(event: Event, session: Session) -> bool:
    return event.type == "stream_start" and event.via_id in (None, session.id)
