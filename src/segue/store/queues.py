"""The queues: what workers look for, and when they have to look again.

Jobs that are due, lanes that are ready, deliveries that wait, and leases that have run out. Each queue is an
index of the rows it is about, and a look at it begins at its head (see `head`).

What is found here was so when somebody looked. Whoever acts on it says what was found, and the database
decides whether it still holds.
"""

from segue.model.records import Delivery, Job
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Database, Params, Row, Rows
from segue.store.queue_start import QueueStart
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import Clock

_ACCOUNTS_AT_ONCE = 50

EVERY_CHANNEL = "*"
"""In place of names, each between commas."""

REBOOTED_MS = 60_000
"""A lease that begins this far in the future was written before the machine restarted."""


@record
class DueJob:
    """A job whose moment has come, with the facts its policy is decided on."""

    job: Job
    heard_at: int | None
    session_zone: str | None
    lane_busy: bool
    runs_queued: int
    runs_running: int


@positional
class Unreadable:
    """A job whose row makes no sense to this version. It is paused, and the others go on."""

    job_id: str
    reason: str
    job: Job | None = None
    """Where it is only its policy that cannot be read."""


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
        """By which clock leases are judged: a test's, else the machine's, else the database's own."""
        mine = self._clock.lease_ms()
        return self.database.lease_now() if mine is None else mine

    def horizon(self) -> int | None:
        lease_now = self.lease_now()
        return None if lease_now is None else lease_now + REBOOTED_MS

    async def _judged(self, leases: QueueStart) -> Params:
        """By what it is told which of them have run out."""
        lease_now = self.lease_now()
        since = await leases.since(self.database.wall_ms() if lease_now is None else lease_now)
        return {"since": since, "lease_now": lease_now, "horizon": self.horizon()}

    # Jobs

    async def due_jobs(self, now: int, limit: int) -> list[DueJob | Unreadable]:
        """What is due, soonest first; of a flood, a share for each of some accounts in turn."""
        since = await self._jobs.since(now)
        found = await self.database.read(queries.jobs.due, {"since": since, "now": now, "limit": limit})
        if len(found) == limit:
            accounts = await self._next_accounts(since)
            if len(accounts) > 1:
                return await self._shares(accounts, since, now, limit)
        return [_due(row) for row in found]

    def is_due(self, since: int) -> None:
        """A job was put to a slot that may have passed while the one before it was put off."""
        self._jobs.lower(since)

    async def _shares(
        self, accounts: list[str], since: int, now: int, limit: int
    ) -> list[DueJob | Unreadable]:
        due: list[DueJob | Unreadable] = []
        for account in accounts:
            asked: Params = {
                "account": account,
                "since": since,
                "now": now,
                "limit": max(1, limit // len(accounts)),
            }
            due += [_due(row) for row in await self.database.read(queries.jobs.due_of_account, asked)]
        return due

    async def _next_accounts(self, since: int) -> list[str]:
        """Some accounts that have jobs, those first that were not looked at last time."""
        accounts: list[str] = []
        after = self._account
        while len(accounts) < _ACCOUNTS_AT_ONCE:
            found = await self.database.read(queries.jobs.next_account, {"account": after, "since": since})
            after = found[0]["account"] or ""
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
        judged: Params = {**await self._judged(self._leased), "limit": limit}
        return [row["id"] for row in await self.database.read(queries.sessions.expired, judged)]

    async def next_ready(self, pool: int) -> int | None:
        asked: Params = {"user_waits": pool, "since": await self.ready_since()}
        return number(await self.database.read(queries.sessions.next_ready, asked), "ready_at")

    async def ready_since(self) -> int:
        """No lane has been ready for longer, as far as it is known."""
        return await self._ready.since(self._clock.ms())

    def is_ready(self, since: int) -> None:
        """A lane was released with a turn in it that has waited since then."""
        self._ready.lower(since)

    # Deliveries

    async def next_delivery(self, channels: str = EVERY_CHANNEL) -> int | None:
        asked: Params = {"channels": channels, "since": await self.waiting_since()}
        return number(await self.database.read(queries.deliveries.next_due, asked), "not_before")

    async def waiting_since(self) -> int:
        """No delivery has waited for longer, as far as it is known."""
        return await self._waiting.since(self._clock.ms())

    async def stranded_deliveries(self, before: int, limit: int) -> list[Delivery]:
        """Due since before that moment, and nobody came for them."""
        asked: Params = {"before": before, "limit": limit}
        return [
            overviews.delivery(row) for row in await self.database.read(queries.deliveries.stranded, asked)
        ]

    async def expired_deliveries(self, channels: str, limit: int) -> list[Delivery]:
        judged: Params = {**await self._judged(self._sending), "channels": channels, "limit": limit}
        return [
            overviews.delivery(row) for row in await self.database.read(queries.deliveries.expired, judged)
        ]


def number(found: Rows, column: str) -> int | None:
    """In the only row; None too if there is no row."""
    return found[0][column] if found else None


def _due(row: Row) -> DueJob | Unreadable:
    try:
        job = rows.job(row)
    except rows.UNREADABLE as error:
        return Unreadable(row["id"], f"cannot be read: {error}")
    if job.policy.unreadable:
        return Unreadable(job.id, job.policy.unreadable, job)
    return DueJob(
        job=job,
        heard_at=row["heard_at"],
        session_zone=row["session_zone"],
        lane_busy=bool(row["lane_busy"]),
        runs_queued=row["runs_queued"],
        runs_running=row["runs_running"],
    )
