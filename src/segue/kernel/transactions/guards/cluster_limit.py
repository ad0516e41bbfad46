"""Concurrency limit of all processes: leases only as many lanes as the turns that run everywhere allow.

There is no counter that a crash could leave wrong: running turns are counted by their leases. So a turn whose
worker was lost counts until its lease expires.

Invariants
  - of several processes that lease at once, one counts and leases while the others wait
  - without a limit, none of this runs
"""

from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane, LeaseTerms, lease
from segue.kernel.transactions.result import Result
from segue.store import queries
from segue.store.database import Transaction


def room(most: int, running: int, pool: Pool) -> int:
    """How many turns may start. Scheduled turns leave a quarter of the limit to users, at least one turn."""
    for_users = max(1, most // 4) if pool is Pool.SCHEDULE and most > 1 else 0
    return max(0, most - for_users - running)


def lease_within_limit(
    terms: LeaseTerms,
    *,
    most: int,
    pool: Pool,
    after: str,
    limit: int,
    now: int,
    since: int,
    allow_suspect: bool,
) -> Transaction[Result[list[HeldLane]] | None]:
    """`lease`, for at most as many lanes as there is room for. None: there is no room."""
    yield queries.sessions.lock_leasing, {}
    counted = yield queries.sessions.count_leased, {"most": most}
    free = min(limit, room(most, counted[0]["leased"], pool))
    if free == 0:
        return None
    return (
        yield from lease(
            terms, pool=pool, after=after, limit=free, now=now, since=since, allow_suspect=allow_suspect
        )
    )
