"""Work queues: what workers can claim now, and when they must check again.

Due jobs, ready lanes, waiting deliveries and expired leases. Each queue is an index of its table, scanned
from its start (see `queue_start`).

Results may be out of date when they are used. The write that acts on one repeats its condition, and the
database decides whether it still holds.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import TypeVar

from segue.model.cost.budget import Budget
from segue.model.quiet.hours import QuietHours
from segue.model.records import Delivery, Job
from segue.model.states import JobKind
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Database, Row, T, Value
from segue.store.queue_start import BOTTOM, QueueStart
from segue.store.reads import Reads
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import Clock

Stored = TypeVar("Stored")

_ACCOUNTS_AT_ONCE = 50

EVERY_CHANNEL = "*"
"""Used instead of a list of channels, which is written as names between commas."""

REBOOTED_MS = 60_000
"""A lease that begins this far in the future was written before the machine restarted."""


@record
class DueJob:
    """A due job, with the facts its policy is decided on."""

    job: Job
    heard_at: int | None
    session_zone: str | None
    lane_busy: bool
    waiting_until: int | None
    """Until when the session waits for its user, at the latest."""
    runs_queued: int
    runs_running: int
    session_budget: Budget | None = None
    quiet: QuietHours | None = None
    """The quiet hours of the session that its turn runs in; None: those of the settings."""
    quiet_zone: str | None = None
    """The zone of that session."""


@positional
class Unreadable:
    """A job whose row this version cannot read. It is paused; other jobs go on."""

    job_id: str
    reason: str
    job: Job | None = None
    """Set when only its policy cannot be read."""


class Queues(Reads):
    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock
        self._account = ""
        self._jobs = QueueStart(database, queries.jobs.next_due)
        self._ready = QueueStart(database, queries.sessions.first_ready)
        self._leased = QueueStart(database, queries.sessions.first_leased)
        self._waiting = QueueStart(database, queries.deliveries.first_waiting)
        self._sending = QueueStart(database, queries.deliveries.first_leased)

    # Leases

    def lease_now(self) -> int | None:
        """The moment leases are judged by, from a test's clock or the driver; None: the database's own."""
        of_test = self._clock.lease_ms()
        return self.database.lease_now() if of_test is None else of_test

    def horizon(self) -> int | None:
        """Leases dated after this were written before the machine restarted, and count as expired."""
        lease_now = self.lease_now()
        return None if lease_now is None else lease_now + REBOOTED_MS

    def _lease_clock(self) -> int:
        """`lease_now`, also where the database's own clock decides."""
        lease_now = self.lease_now()
        return self.database.wall_ms() if lease_now is None else lease_now

    async def _expired(self, leases: QueueStart) -> dict[str, Value]:
        """The parameters of a query for expired leases."""
        since = await leases.since(self._lease_clock())
        return {"since": since, "lease_now": self.lease_now(), "horizon": self.horizon()}

    async def next_expiry(self) -> int | None:
        """When the next lease of a lane or a delivery ends, unless its worker renews it."""
        now = self._lease_clock()
        leases = (queries.sessions.first_leased, queries.deliveries.first_leased)
        ends = [await self._first(itemgetter("lease_until"), query, since=BOTTOM) for query in leases]
        left = [max(0, end - now) for end in ends if end is not None]
        return self._clock.ms() + min(left) if left else None

    # Jobs

    async def due_jobs(self, now: int, limit: int, *, unified: bool = False) -> list[DueJob | Unreadable]:
        """Due jobs, soonest first. If there are more than `limit`, some accounts in turn get a share each."""
        since = await self._jobs.since(now)
        params: dict[str, Value] = {"since": since, "now": now, "unified": int(unified)}
        due = await self._all(_due_job, queries.jobs.due, **params, limit=limit)
        if len(due) == limit:
            accounts = await self._next_accounts(since)
            if len(accounts) > 1:
                due, share = [], max(1, limit // len(accounts))
                for account in accounts:
                    query = queries.jobs.due_of_account
                    due += await self._all(_due_job, query, **params, account=account, limit=share)
        return due

    def is_due(self, since: int) -> None:
        """Call when a job's next slot is set to a time that may already be in the past."""
        self._jobs.lower(since)

    async def _next_accounts(self, since: int) -> list[str]:
        """The next accounts that have jobs, in turn: it goes on after the last account of the last call."""
        accounts: list[str] = []
        after = self._account
        while len(accounts) < _ACCOUNTS_AT_ONCE:
            query = queries.jobs.next_account
            after = await self._first(itemgetter("account"), query, account=after, since=since) or ""
            if after in accounts or (not after and not self._account):
                break
            if after:
                accounts.append(after)
            self._account = after
        return accounts

    async def next_due(self) -> int | None:
        since = await self._jobs.since(self._clock.ms())
        return await self._first(itemgetter("next_at"), queries.jobs.next_due, since=since)

    # Lanes

    async def expired_lanes(self, limit: int) -> list[str]:
        lease = await self._expired(self._leased)
        return await self._all(itemgetter("id"), queries.sessions.expired, **lease, limit=limit)

    async def next_ready(self, pool: int) -> int | None:
        query, since = queries.sessions.next_ready, await self.ready_since()
        return await self._first(itemgetter("ready_at"), query, user_waits=pool, since=since)

    async def ready_since(self) -> int:
        """The scan start for ready lanes: a lower bound on `ready_at`, as far as it is known."""
        return await self._ready.since(self._clock.ms())

    def is_ready(self, since: int) -> None:
        """Call when a lane is released with a turn that has waited since then."""
        self._ready.lower(since)

    # Deliveries

    async def next_delivery(self, channels: str = EVERY_CHANNEL) -> int | None:
        query, since = queries.deliveries.next_due, await self.waiting_since()
        return await self._first(itemgetter("not_before"), query, channels=channels, since=since)

    async def waiting_since(self) -> int:
        """The scan start for deliveries: a lower bound on `not_before`, as far as it is known."""
        return await self._waiting.since(self._clock.ms())

    async def stranded_deliveries(self, before: int, limit: int) -> list[Delivery]:
        """Due since before that moment, and never leased by a courier."""
        return await self._all(overviews.delivery, queries.deliveries.stranded, before=before, limit=limit)

    async def expired_deliveries(self, channels: str, limit: int) -> list[Delivery]:
        query, lease = queries.deliveries.expired, await self._expired(self._sending)
        return await self._all(overviews.delivery, query, **lease, channels=channels, limit=limit)


def _due_job(row: Row) -> DueJob | Unreadable:
    job, fault = _read(rows.job, row)
    if job is None:
        return Unreadable(row["id"], fault)
    if job.policy.unreadable:
        return Unreadable(job.id, job.policy.unreadable, job)
    budget, fault = _read(rows.budget_of, row["session_budget"])
    if fault:
        return Unreadable(job.id, f"the budget of its session {fault}", job)
    common = row["common_quiet"]
    quiet, fault = _read(rows.quiet_of, row["session_quiet"] if common is None else common)
    if fault and job.kind is not JobKind.MESSAGE:  # a written message is sent at its time
        return Unreadable(job.id, f"the quiet hours of its session {fault}", job)
    return DueJob(
        job=job,
        heard_at=row["heard_at"],
        session_zone=row["session_zone"],
        lane_busy=bool(row["lane_busy"]),
        waiting_until=row["waiting_until"],
        runs_queued=row["runs_queued"],
        runs_running=row["runs_running"],
        session_budget=budget,
        quiet=quiet,
        quiet_zone=row["common_zone"] or row["session_zone"],
    )


def _read(convert: Callable[[Stored], T], stored: Stored) -> tuple[T | None, str]:
    """The value, or None and why there is none."""
    try:
        return convert(stored), ""
    except rows.UNREADABLE as error:
        return None, f"cannot be read: {error}"
