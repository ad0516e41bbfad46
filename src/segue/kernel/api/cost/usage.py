"""Usage: reads what the runs and the users' turns of a session used, and sums it by day and job."""

from collections.abc import AsyncIterator
from datetime import datetime

from segue.errors import BadTime
from segue.kernel.api.context import ApiContext
from segue.model.cost.usage_days import MOST_USAGE_DAYS, SessionUsage, Used, usage_by_day, usage_start
from segue.model.records import Session
from segue.model.states import Outcome
from segue.store import queries
from segue.store.database import Params, Row
from segue.store.rows import core as rows
from segue.times.clock import to_moment, to_ms

_PAGE = 1_000


async def usage_of_session(
    context: ApiContext, session: Session, days: int, timezone: str | None
) -> SessionUsage:
    if not 1 <= days <= MOST_USAGE_DAYS:
        raise BadTime(f"usage is for 1 to {MOST_USAGE_DAYS} days, got {days!r}")
    zone = context.zone_in(session, timezone) or "UTC"
    now = to_moment(context.clock.ms())
    start = usage_start(now, days, zone)
    found = [used async for used in _used_since(context, session.id, start)]
    return usage_by_day(found, start, now, zone)


async def _used_since(context: ApiContext, session_id: str, start: datetime) -> AsyncIterator[Used]:
    first = to_ms(start)
    # A run is queued at its slot or later, and a user's turn has an id that begins with its time.
    since: Params = {"session_id": session_id, "since": first - 1, "since_id": "", "limit": _PAGE}
    while page := await context.store.database.read(queries.runs.used_since, since):
        for row in page:
            yield _used(row, row["slot"], row["job_id"], row["name"], row["missed_count"])
        since = {**since, "since": page[-1]["queued_at"], "since_id": page[-1]["id"]}
    since = {"session_id": session_id, "since_id": f"{first:012x}", "limit": _PAGE}
    while page := await context.store.database.read(queries.turns.used_since, since):
        for row in page:
            yield _used(row, row["queued_at"], None, None, 0)
        since = {**since, "since_id": page[-1]["id"]}


def _used(row: Row, at: int, job_id: str | None, name: str | None, slots: int) -> Used:
    outcome = None if row["outcome"] is None else Outcome(row["outcome"])
    return Used(at, job_id, name, outcome, slots, row["started_at"], rows.from_text(row["usage"]))
