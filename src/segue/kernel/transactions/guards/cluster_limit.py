"""Concurrency limits of all processes: lease only as many lanes as the turns that run everywhere allow.

There is no counter that a crash could leave wrong: running turns are counted by their leases. So a turn whose
worker was lost counts until its lease expires.

Invariant
  - of several processes that lease at once, one counts and leases while the others wait
"""

from dataclasses import replace

from segue.kernel.transactions.guards.model_room import ModelRoom, room
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import Leased, LeaseTerms, lease
from segue.kernel.transactions.result import Result
from segue.model.settings import Settings
from segue.store import queries
from segue.store.database import Rows, Transaction


def lease_within_limits(
    terms: LeaseTerms,
    *,
    settings: Settings,
    pool: Pool,
    after: str,
    limit: int,
    now: int,
    since: int,
    allow_suspect: bool,
) -> Transaction[Result[Leased]]:
    """`lease`, for at most as many lanes as there is room for."""
    yield queries.sessions.lock_leasing, {}
    if most := settings.max_running_turns:
        counted = yield queries.sessions.count_leased, {"most": most}
        limit = min(limit, room(most, counted[0]["leased"], for_users=pool is Pool.SCHEDULE))
    if limit == 0:
        return Result(value=Leased(limit_reached=True))
    running: Rows = ()
    if settings.max_running_turns_by_model:
        running = yield queries.turns.running_by_model, {}
    models = ModelRoom(settings, running, pool)
    woken = yield from models.wake(after, limit)
    leased = yield from lease(
        terms,
        pool=pool,
        after=after,
        limit=limit,
        now=now,
        since=since if woken is None else min(since, woken),
        allow_suspect=allow_suspect,
        models=models,
    )
    again = models.put_some_off or woken is not None
    ready = [moment for moment in (leased.ready_at, woken) if moment is not None]
    return replace(
        leased,
        value=replace(leased.value, model_full=models.full, again=again),
        ready_at=min(ready, default=None),
    )
