"""Fills PostgreSQL with sessions, jobs, runs, turns and events, by SQL.

The rows are numbered copies of rows that a kernel made, so they are as large as real ones. A session has a
turn in each round, and each turn has the same events, so that the log of a session is spread over the table
as it is in production. The turns of the last two rounds are stored, as if those of earlier rounds had been
pruned; they belong to runs of jobs, are older than the retention time, and every other run is the newest of
its job.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

from segue import Ask, Every, Kernel
from segue.testing import ManualClock, quiet

_BATCH = 100_000
DAY_MS = 86_400_000
OLD_MS = 200 * DAY_MS
"""How long ago the turns of the last two rounds ended."""
ANSWERS = 4
"""Events of a scheduled turn: the prompt, a tool call, the answer, and the notice to other clients."""

_ID = "lpad(to_hex({moment}::BIGINT), 12, '0') || '00000' || substr(md5(({n})::TEXT), 1, 11)"
_SESSION = _ID.format(moment="{began} + ({n})", n="{n}")
_JOB = _ID.format(moment="{began} + ({n})", n="-({n})")

_PATTERN_EVENTS = """
CREATE TABLE pattern_events AS SELECT * FROM events
WHERE session_id = '{session}' AND type IN ('stream_start', 'tool_call', 'stream_end', 'session_sync');
UPDATE pattern_events SET seq = (SELECT COUNT(*) FROM pattern_events AS p WHERE p.seq <= pattern_events.seq)
"""


@dataclass(frozen=True)
class Size:
    sessions: int
    jobs: int
    events: int

    @property
    def rounds(self) -> int:
        return max(2, self.events // (self.sessions * ANSWERS))


@dataclass(frozen=True)
class Pattern:
    """A session with one job that has run once."""

    session_id: str
    job_id: str
    run_id: str
    turn_id: str


async def make_pattern(kernel: Kernel, clock: ManualClock) -> Pattern:
    key = "websocket:pattern"
    job = await kernel.schedule(key, Every(3600), Ask("Look at the news and tell me what is new. " * 3))
    clock.advance(hours=1)
    await quiet(kernel)
    (run,) = await kernel.runs.list(job=job.id)
    await kernel.jobs.pause(job.id)
    assert run.turn_id is not None
    return Pattern(job.session_id, job.id, run.id, run.turn_id)


class Fill:
    def __init__(
        self, connection: "asyncpg.Connection[asyncpg.Record]", pattern: Pattern, size: Size, now: int
    ) -> None:
        self._connection = connection
        self._pattern = pattern
        self._size = size
        self._began = now - 400 * DAY_MS
        self._now = now

    async def run(self) -> None:
        await self._connection.execute("SET synchronous_commit = off; SET maintenance_work_mem = '1GB'")
        await self._sessions()
        await self._jobs()
        await self._log()
        await self._connection.execute("VACUUM ANALYZE")

    async def _sessions(self) -> None:
        rounds, sid = self._size.rounds, self._session("n")
        per_round = await self._connection.fetchrow(
            "SELECT COUNT(*) AS messages, SUM(tokens)::BIGINT AS tokens FROM events "
            "WHERE session_id = $1 AND role IS NOT NULL",
            self._pattern.session_id,
        )
        assert per_round is not None
        changed = {
            "id": sid,
            "key": "'websocket:' || n",
            "user_id": "'user-' || n % 100000",
            "account": "'account-' || n % 100",
            "last_seq": str(rounds * ANSWERS),
            "live_messages": str(rounds * per_round["messages"]),
            "live_tokens": str(rounds * per_round["tokens"]),
            "fence": str(rounds),
        }
        await self._copy("sessions", "id", self._pattern.session_id, self._size.sessions, changed)
        names = {name: changed[name] for name in ("account", "user_id", "key")}
        await self._copy(
            "directory",
            "session_id",
            self._pattern.session_id,
            self._size.sessions,
            {"session_id": sid, **names},
        )
        active = {
            "session_id": sid,
            "indexed_seq": str(rounds * ANSWERS),
            "unindexed": "0",
            "active_at": self._at("n"),
        }
        await self._copy(
            "activity",
            "session_id",
            self._pattern.session_id,
            self._size.sessions,
            {**active, "account": names["account"], "user_id": names["user_id"]},
        )

    async def _jobs(self) -> None:
        due = f"{self._now + DAY_MS}::BIGINT + (n * 7919::BIGINT) % {30 * DAY_MS}"
        sid = self._session(f"(n % {self._size.sessions})")
        changed = {
            "id": self._job("n"),
            "session_id": sid,
            "account": f"'account-' || (n % {self._size.sessions}) % 100",
            "state": "'active'",
            "slot": due,
            "next_at": due,
        }
        await self._copy("jobs", "id", self._pattern.job_id, self._size.jobs, changed)
        run = {"job_id": self._job("n"), "session_id": sid, "outcome": "NULL", "finished_at": "NULL"}
        for last in (0, 1):
            moment = f"({self._now - OLD_MS}::BIGINT + n * 2 + {last})"
            given = {
                **run,
                "id": f"{self._job('n')} || ':' || {moment}",
                "slot": moment,
                "queued_at": moment,
                "turn_id": self._turn(last, "n"),
            }
            await self._copy("runs", "id", self._pattern.run_id, self._size.jobs, given)

    async def _log(self) -> None:
        rounds, sessions = self._size.rounds, self._size.sessions
        sid = self._session("n")
        await self._connection.execute("ALTER TABLE events DROP CONSTRAINT events_pkey")
        await self._connection.execute(_PATTERN_EVENTS.format(session=self._pattern.session_id))
        for number in range(rounds):
            changed = {
                "session_id": sid,
                "seq": f"p.seq + {number * ANSWERS}",
                "turn_id": self._turn(number - rounds + 2, "n"),
                "at": self._at(f"({number} * {sessions}::BIGINT + n)"),
            }
            await self._copy("events", "", "", sessions, changed, table="pattern_events")
        await self._connection.execute("ALTER TABLE events ADD PRIMARY KEY (session_id, seq)")
        await self._connection.execute("DROP TABLE pattern_events")
        for last in (0, 1):
            moment = f"({self._now - OLD_MS}::BIGINT + n * 2 + {last})"
            with_job = f"n < {self._size.jobs}"
            changed = {
                "id": self._turn(last, "n"),
                "session_id": sid,
                "via_id": sid,
                "job_id": f"CASE WHEN {with_job} THEN {self._job('n')} END",
                "run_id": f"CASE WHEN {with_job} THEN {self._job('n')} || ':' || {moment} END",
                "queued_at": moment,
                "not_before": moment,
                "started_at": moment,
                "finished_at": moment,
            }
            await self._copy("turns", "id", self._pattern.turn_id, sessions, changed)

    def _session(self, n: str) -> str:
        return _SESSION.format(began=self._began, n=n)

    def _job(self, n: str) -> str:
        return _JOB.format(began=self._began, n=n)

    def _turn(self, last: int, n: str) -> str:
        moment = f"{self._now - OLD_MS}::BIGINT + ({n}) * 2 + ({last})"
        return _ID.format(moment=moment, n=f"({n} * 2 + {last})")

    def _at(self, n: str) -> str:
        return f"{self._began}::BIGINT + {n}"

    async def _copy(
        self,
        into: str,
        column: str,
        value: str,
        count: int,
        changed: Mapping[str, str],
        *,
        table: str | None = None,
    ) -> None:
        """Copy the pattern's row, or all rows of a table, for each n from 0, with some columns changed."""
        names = await self._connection.fetch(
            "SELECT attname::TEXT AS name FROM pg_attribute "
            "WHERE attrelid = $1::TEXT::regclass AND attnum > 0 AND NOT attisdropped",
            into,
        )
        columns = [row["name"] for row in names]
        chosen = ", ".join(changed.get(name, f"p.{name}") for name in columns)
        which = f"WHERE p.{column} = '{value}'" if column else ""
        for first in range(0, count, _BATCH):
            last = min(count, first + _BATCH) - 1
            await self._connection.execute(
                f"INSERT INTO {into} ({', '.join(columns)}) SELECT {chosen} "
                f"FROM generate_series({first}, {last}) AS n CROSS JOIN {table or into} AS p {which}"
            )
