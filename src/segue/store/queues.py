"""Work queues: what workers can claim now, and when they must check again.

Due jobs, ready lanes, waiting deliveries and expired leases. Each queue is an index of its table, scanned
from its start (see `queue_start`).

Results may be out of date when they are used. The write that acts on one repeats its condition, and the
database decides whether it still holds.
"""

from segue.model.cost.budget import Budget
from segue.model.quiet.hours import QuietHours
from segue.model.records import Delivery, Job
from segue.model.states import JobKind
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Database, Params, Row, Rows
from segue.store.queue_start import QueueStart
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import Clock

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


class Queues:
    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self._clock = clock
        self._account = ""
        self._jobs = QueueStart(database, queries.jobs.next_due)
        self._ready = QueueStart(database, queries.sessions.first_ready)
        self._leased = QueueStart(database, queries.sessions.first_leased)
        self._waiting = QueueStart(database, queries.deliveries.first_waiting)
        self._sending = QueueStart(database, queries.deliveries.first_leased)

    def lease_now(self) -> int | None:
        """The moment leases are judged by, from a test's clock or the driver; None: the database's own."""
        of_test = self._clock.lease_ms()
        return self.database.lease_now() if of_test is None else of_test

    def horizon(self) -> int | None:
        """A lease that begins after this moment has expired (see `REBOOTED_MS`)."""
        lease_now = self.lease_now()
        return None if lease_now is None else lease_now + REBOOTED_MS

    async def _expiry_params(self, leases: QueueStart) -> Params:
        """The parameters of a query for expired leases."""
        lease_now = self.lease_now()
        since = await leases.since(self.database.wall_ms() if lease_now is None else lease_now)
        return {"since": since, "lease_now": lease_now, "horizon": self.horizon()}

    async def next_expiry(self) -> int | None:
        """When the next lease of a lane or a delivery ends, unless its worker renews it."""
        lease_now = self.lease_now()
        now = self.database.wall_ms() if lease_now is None else lease_now
        ends = [
            number(await self.database.read(query, {"since": 0}), "lease_until")
            for query in (queries.sessions.first_leased, queries.deliveries.first_leased)
        ]
        left = [max(0, end - now) for end in ends if end is not None]
        return self._clock.ms() + min(left) if left else None

    # Jobs

    async def due_jobs(self, now: int, limit: int, *, unified: bool = False) -> list[DueJob | Unreadable]:
        """Due jobs, soonest first. If there are more than `limit`, some accounts in turn get a share each."""
        since = await self._jobs.since(now)
        params: Params = {"since": since, "now": now, "limit": limit, "unified": int(unified)}
        due = await self.database.read(queries.jobs.due, params)
        if len(due) == limit:
            accounts = await self._next_accounts(since)
            if len(accounts) > 1:
                return await self._shares(accounts, params)
        return [_row_to_due_job(row) for row in due]

    def is_due(self, since: int) -> None:
        """Call when a job's next slot is set to a time that may already be in the past."""
        self._jobs.lower(since)

    async def _shares(self, accounts: list[str], due_now: Params) -> list[DueJob | Unreadable]:
        due: list[DueJob | Unreadable] = []
        share = max(1, int(due_now["limit"] or 0) // len(accounts))
        for account in accounts:
            params: Params = {**due_now, "account": account, "limit": share}
            found = await self.database.read(queries.jobs.due_of_account, params)
            due += [_row_to_due_job(row) for row in found]
        return due

    async def _next_accounts(self, since: int) -> list[str]:
        """The next accounts that have jobs, in turn: it goes on after the last account of the last call."""
        accounts: list[str] = []
        after = self._account
        while len(accounts) < _ACCOUNTS_AT_ONCE:
            next_one = await self.database.read(queries.jobs.next_account, {"account": after, "since": since})
            after = next_one[0]["account"] or ""
            if after in accounts or (not after and not self._account):
                break
            if after:
                accounts.append(after)
            self._account = after
        return accounts

    async def next_due(self) -> int | None:
        since = await self._jobs.since(self._clock.ms())
        return number(await self.database.read(queries.jobs.next_due, {"since": since}), "next_at")

    # Lanes

    async def expired_lanes(self, limit: int) -> list[str]:
        params: Params = {**await self._expiry_params(self._leased), "limit": limit}
        return [row["id"] for row in await self.database.read(queries.sessions.expired, params)]

    async def next_ready(self, pool: int) -> int | None:
        params: Params = {"user_waits": pool, "since": await self.ready_since()}
        return number(await self.database.read(queries.sessions.next_ready, params), "ready_at")

    async def ready_since(self) -> int:
        """The scan start for ready lanes: a lower bound on `ready_at`, as far as it is known."""
        return await self._ready.since(self._clock.ms())

    def is_ready(self, since: int) -> None:
        """Call when a lane is released with a turn that has waited since then."""
        self._ready.lower(since)

    # Deliveries

    async def next_delivery(self, channels: str = EVERY_CHANNEL) -> int | None:
        params: Params = {"channels": channels, "since": await self.waiting_since()}
        return number(await self.database.read(queries.deliveries.next_due, params), "not_before")

    async def waiting_since(self) -> int:
        """The scan start for deliveries: a lower bound on `not_before`, as far as it is known."""
        return await self._waiting.since(self._clock.ms())

    async def stranded_deliveries(self, before: int, limit: int) -> list[Delivery]:
        """Due since before that moment, and never leased by a courier."""
        params: Params = {"before": before, "limit": limit}
        return [
            overviews.delivery(row) for row in await self.database.read(queries.deliveries.stranded, params)
        ]

    async def expired_deliveries(self, channels: str, limit: int) -> list[Delivery]:
        lease: Params = await self._expiry_params(self._sending)
        params: Params = {**lease, "channels": channels, "limit": limit}
        return [
            overviews.delivery(row) for row in await self.database.read(queries.deliveries.expired, params)
        ]


def number(result: Rows, column: str) -> int | None:
    """The column's value in the only row; None if there is no row."""
    return result[0][column] if result else None


def _row_to_due_job(row: Row) -> DueJob | Unreadable:
    try:
        job = rows.job(row)
    except rows.UNREADABLE as error:
        return Unreadable(row["id"], f"cannot be read: {error}")
    if job.policy.unreadable:
        return Unreadable(job.id, job.policy.unreadable, job)
    try:
        budget = rows.budget_of(row["session_budget"])
    except rows.UNREADABLE as error:
        return Unreadable(job.id, f"the budget of its session cannot be read: {error}", job)
    quiet = None
    try:
        quiet = rows.quiet_of(row["session_quiet"] if row["common_quiet"] is None else row["common_quiet"])
    except rows.UNREADABLE as error:
        if job.kind is not JobKind.MESSAGE:  # a written message is sent at its time
            return Unreadable(job.id, f"the quiet hours of its session cannot be read: {error}", job)
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
