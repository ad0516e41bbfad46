"""Day sets: stores and removes the sets of an account, and notes which jobs use them in which version.

A job carries the set in its trigger. `kernel.workers.day_mover` gives it the new version when the set has
changed.
"""

from segue.errors import BadDays, DaysInUse, NotFound
from segue.model.records import Job
from segue.store import queries
from segue.store.database import Transaction
from segue.times.days.day_sets import DaySet
from segue.times.trigger import Cron

MOST_SETS = 100
"""Of one account."""
_MOST_NAMED = 100


def put(account: str, days: DaySet, now: int) -> Transaction[bool]:
    """Store a set or its new version. False: it is stored already, with the same days."""
    stored = yield queries.day_sets.of_account, {"account": account}
    if len(stored) >= MOST_SETS and days.name not in (row["name"] for row in stored):
        raise BadDays(f"an account has at most {MOST_SETS} day sets; delete one that is not used")
    changed = yield (
        queries.day_sets.put,
        {
            "account": account,
            "name": days.name,
            "content": days.text,
            "version": days.version,
            "now": now,
        },
    )
    return bool(changed)


def remove(account: str, name: str) -> Transaction[None]:
    """Remove a set. Raises `DaysInUse`, `NotFound`."""
    params = {"account": account, "name": name}
    using = yield queries.day_sets.users, {**params, "limit": _MOST_NAMED}
    if using:
        names = ", ".join(f"{row['name']!r} ({row['id']})" for row in using[:3])
        more = f" and {len(using) - 3} more" if len(using) > 3 else ""
        raise DaysInUse(
            f"the day set {name} is used by {names}{more}; delete these jobs, or change their schedule",
            [row["id"] for row in using],
        )
    removed = yield queries.day_sets.remove, params
    if not removed:
        raise NotFound(f"there is no day set {name}")


def note_use(job: Job, *, changed: bool = False) -> Transaction[None]:
    """Note the set of the account that a stored job carries. `changed`: it may have had another before."""
    own = job.trigger.own_days if isinstance(job.trigger, Cron) else None
    if own is not None:
        yield (
            queries.day_sets.use,
            {"job_id": job.id, "account": job.account, "name": own.name, "version": own.version},
        )
    elif changed:
        yield queries.day_sets.use_none, {"job_id": job.id}
