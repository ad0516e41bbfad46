"""Fills a database with many jobs that are due in the far future.

The rows are numbered copies of one job that the kernel made. A million calls of `schedule` would store the
same, but take most of an hour.
"""

from datetime import UTC, datetime, timedelta

from segue import Ask, Every, Kernel
from segue.store import queries
from segue.store.database import Params, Transaction

BATCH = 25_000
JOBS_PER_SESSION = 10

_SESSIONS = queries.translate(
    "stock.sessions",
    """
    WITH RECURSIVE numbers (n) AS (
        SELECT CAST(:first AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :stop
    )
    INSERT INTO sessions (id, account, user_id, key, created_at)
    SELECT CAST(10000000 + n AS TEXT), account, user_id, 'websocket:' || CAST(n AS TEXT), created_at
    FROM numbers, sessions
    WHERE sessions.id = :like
    """,
)
_DIRECTORY = queries.translate(
    "stock.directory",
    """
    INSERT INTO directory (session_id, account, user_id, key)
    SELECT id, account, user_id, key
    FROM sessions
    WHERE id >= CAST(10000000 + :first AS TEXT) AND id < CAST(10000000 + :stop AS TEXT)
    """,
)
_ACTIVITY = queries.translate(
    "stock.activity",
    """
    INSERT INTO activity (session_id, account, user_id, active_at)
    SELECT id, account, user_id, created_at
    FROM sessions
    WHERE id >= CAST(10000000 + :first AS TEXT) AND id < CAST(10000000 + :stop AS TEXT)
    """,
)
_JOBS = queries.translate(
    "stock.jobs",
    """
    WITH RECURSIVE numbers (n) AS (
        SELECT CAST(:first AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :stop
    )
    INSERT INTO jobs (id, session_id, account, kind, name, state, trigger_kind, trigger, action, policy,
                      slot, next_at, created_at, updated_at)
    SELECT CAST(10000000 + n AS TEXT), CAST(10000000 + n % :sessions AS TEXT), account, kind, name, state,
           trigger_kind, trigger, action, policy, slot + n, next_at + n, created_at, updated_at
    FROM numbers, jobs
    WHERE jobs.id = :like
    """,
)


async def stock(kernel: Kernel, jobs: int) -> None:
    """Adds that many jobs, ten in each session `websocket:0`, `websocket:1`, …"""
    far = datetime.now(UTC) + timedelta(days=3650)
    like = await kernel.schedule("websocket:pattern", Every(timedelta(days=1), start=far), Ask("go on"))
    sessions = jobs // JOBS_PER_SESSION
    await _copy(kernel, _SESSIONS, sessions, {"like": like.session_id})
    await _copy(kernel, _DIRECTORY, sessions, {})
    await _copy(kernel, _ACTIVITY, sessions, {})
    await _copy(kernel, _JOBS, jobs, {"like": like.id, "sessions": sessions})


async def _copy(kernel: Kernel, query: queries.Query, count: int, params: Params) -> None:
    for first in range(0, count, BATCH):
        await kernel.store.commit(_one, query, {**params, "first": first, "stop": min(count, first + BATCH)})


def _one(query: queries.Query, params: Params) -> Transaction[None]:
    yield query, params
