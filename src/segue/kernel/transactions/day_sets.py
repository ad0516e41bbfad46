"""Day sets: stores and removes the sets of an account, and notes which jobs and sessions use them.

A job carries the set in its trigger. `kernel.workers.day_mover` gives it the new version when the set has
changed.
"""

from segue.errors import BadDays, DaysInUse, NotFound
from segue.model.records import Job, Session
from segue.store import queries
from segue.store.database import Transaction
from segue.times.days.day_sets import DaySet, shipped_names, unknown_days
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
            "known_until": days.known_until.isoformat(),
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
    chosen = yield queries.day_sets.sessions, {**params, "limit": _MOST_NAMED}
    if chosen:
        keys = ", ".join(row["key"] for row in chosen[:3])
        raise DaysInUse(f"the day set {name} is that of {keys}; give these sessions another one", [])
    removed = yield queries.day_sets.remove, params
    if not removed:
        raise NotFound(f"there is no day set {name}")


def note_use(job: Job, *, changed: bool = False) -> Transaction[None]:
    """Note the set that a stored job uses, and of a set of the account its version.

    `changed`: the job may have used another before.
    """
    trigger = job.trigger if isinstance(job.trigger, Cron) else None
    if trigger is not None and trigger.days is not None:
        version = trigger.own_days.version if trigger.own_days else ""
        used = {"job_id": job.id, "account": job.account, "name": trigger.days, "version": version}
        yield queries.day_sets.use, used
    elif changed:
        yield queries.day_sets.use_none, {"job_id": job.id}


def choose(session: Session, name: str | None) -> Transaction[None]:
    """Set or clear the day set of a session. Raises `UnknownDays`."""
    if name is None:
        yield queries.day_sets.choose_none, {"session_id": session.id}
        return
    account = session.owner.account
    if name not in shipped_names():
        own = yield queries.day_sets.of_account, {"account": account}
        if name not in (row["name"] for row in own):
            raise unknown_days(name, (*shipped_names(), *(row["name"] for row in own)))
    yield queries.day_sets.choose, {"session_id": session.id, "account": account, "name": name}
