"""Growth: what a large PostgreSQL database costs, by the database's processor time and its write-ahead log.

    python -m bench.growth --sessions 1000000 --jobs 1000000 --events 20000000

It first measures bytes per turn, pending job and stored message with a kernel on an empty database. Then it
fills the database (`bench.growth_fill`) and repeats the same operations on random sessions, explains every
query, prunes and vacuums. Wall time is not measured: the figures hold on a busy machine too.
"""

import argparse
import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg

from bench.growth_fill import DAY_MS, OLD_MS, Fill, Size, make_pattern
from segue import Ask, Delta, Every, Kernel, OpenTurn, Owner, Settings, ToolCalled
from segue.testing import ManualClock, quiet
from tests.postgres import Server, temporary_server
from tests.store.test_plans import GUESSES, QUERIES, SEEN, walks_in_postgres

_OPERATIONS = 300
_AT_ONCE = 50
_WORDS = "It is a plain answer of some length, as a model would give it. " * 6
_LARGE = {"sessions", "directory", "activity", "jobs", "runs", "turns", "events"}
_SETTINGS = Settings(runners=_AT_ONCE, user_runners=_AT_ONCE)


@dataclass(frozen=True)
class Cost:
    cpu_ms: float
    """Processor time of all processes of the database."""
    log_bytes: float
    """Write-ahead log."""


class Meter:
    """Reads what the database has used so far."""

    def __init__(self, server: Server, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._server = server
        self._connection = connection

    async def cost(self, work: Callable[[], Awaitable[object]], count: int = 1) -> Cost:
        cpu, log = self._cpu_ns(), await self._log()
        await work()
        cpu = self._cpu_ns() - cpu
        return Cost(cpu / 1e6 / count, (await self._log() - log) / count)

    async def bytes(self) -> int:
        return int(await self._connection.fetchval("SELECT pg_database_size(current_database())"))

    def _cpu_ns(self) -> int:
        parent = self._server.process.pid
        return sum(_run_ns(pid) for pid in Path("/proc").iterdir() if _parent_of(pid) == parent)

    async def _log(self) -> int:
        return int(await self._connection.fetchval("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def _parent_of(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _run_ns(process: Path) -> int:
    try:
        return int((process / "schedstat").read_text().split()[0])
    except OSError:
        return 0


class Agent:
    """Calls one tool and answers in some sentences."""

    reports_tools = True

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | ToolCalled | str]:
        yield ToolCalled(call_id="1", name="news", result="Nothing has happened since yesterday. " * 3)
        yield _WORDS


def main() -> None:
    options = _options()
    size = Size(options.sessions, options.jobs, options.events)
    with temporary_server() as server:
        asyncio.run(_measure(server, size))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=400_000)
    return parser.parse_args()


async def _measure(server: Server, size: Size) -> None:
    clock = ManualClock()
    connection = await asyncpg.connect(server.url)
    meter = Meter(server, connection)
    async with Kernel(server.url, agent=Agent(), clock=clock, settings=_SETTINGS) as kernel:
        pattern = await make_pattern(kernel, clock)
        await _stored_bytes(kernel, clock, meter)
        few = {f"few:{n}": Owner(f"account-{n % 100}", f"user-{n}") for n in range(_OPERATIONS)}
        await _each(few, lambda key: kernel.receive(key, "Hi", owner=few[key]))
        await quiet(kernel)
        before = await _operations(kernel, clock, meter, connection, few)
        await Fill(connection, pattern, size, clock.ms()).run()
        print(f"\n{size.sessions:,} sessions, {size.jobs:,} jobs, {size.rounds * size.sessions * 4:,} events")
        await _tables(connection)
        await connection.execute("CHECKPOINT")
        chosen = random.Random(7).sample(range(size.sessions), _OPERATIONS)
        owners = {f"websocket:{n}": Owner(f"account-{n % 100}", f"user-{n % 100_000}") for n in chosen}
        cold = await _operations(kernel, clock, meter, connection, owners)
        warm = await _operations(kernel, clock, meter, connection, owners)
        _compare(before, cold, warm)
        await _plans(connection)
        await _prune(kernel, meter)
        await _vacuum(meter, connection)
    await connection.close()


async def _stored_bytes(kernel: Kernel, clock: ManualClock, meter: Meter) -> None:
    """Print what an operation adds to the database, with its indexes."""
    sessions = [f"bench:{number}" for number in range(_OPERATIONS)]

    async def users_turns() -> None:
        await _each(sessions, lambda key: kernel.receive(key, _WORDS[:100]))
        await quiet(kernel)

    async def written() -> None:
        for key in sessions:
            await kernel.log.write_all(key, [("user", _WORDS), ("assistant", _WORDS)] * 2)
        await quiet(kernel)

    async def pending() -> None:
        await _each(sessions, lambda key: kernel.schedule(key, Every(7 * 86_400), Ask("Look.")))

    async def scheduled_turns() -> None:
        clock.advance(days=7)
        await quiet(kernel)

    await users_turns()
    print(f"{'bytes in the database, with indexes':50}{'bytes':>10}")
    steps: Mapping[str, tuple[Callable[[], Awaitable[None]], int]] = {
        "a user's turn, 4 events": (users_turns, 1),
        "a stored message": (written, 4),
        "a pending job": (pending, 1),
        "a scheduled turn with its run, 4 events": (scheduled_turns, 1),
    }
    for name, (step, each) in steps.items():
        had = await meter.bytes()
        for _ in range(1 if step is pending else 4):
            await step()
        times = 1 if step is pending else 4
        print(f"{name:50}{(await meter.bytes() - had) / (times * each * len(sessions)):10,.0f}")


async def _operations(
    kernel: Kernel,
    clock: ManualClock,
    meter: Meter,
    connection: "asyncpg.Connection[asyncpg.Record]",
    owners: Mapping[str, Owner],
) -> dict[str, Cost]:
    async def turns() -> None:
        await _each(owners, lambda key: kernel.receive(key, _WORDS[:100], owner=owners[key]))
        await quiet(kernel)

    async def add() -> None:
        await _each(
            owners, lambda key: kernel.schedule(key, Every(9 * 86_400), Ask("Look."), owner=owners[key])
        )

    async def fire() -> None:
        clock.advance(minutes=1)
        await connection.execute(
            "UPDATE jobs SET slot = $1, next_at = $1 WHERE id = ANY($2)", clock.ms(), due
        )
        await quiet(kernel)

    async def read() -> None:
        await _each(owners, lambda key: kernel.messages(key, owner=owners[key], limit=50))

    async def listed() -> None:
        await _each(owners, lambda key: kernel.sessions.list(owner=owners[key], limit=20))

    costs = {
        "a user's turn": await meter.cost(turns, len(owners)),
        "adding a job": await meter.cost(add, len(owners)),
    }
    due = [
        row["id"]
        for row in await connection.fetch(
            "SELECT MAX(jobs.id) AS id FROM jobs JOIN sessions ON sessions.id = session_id "
            "WHERE key = ANY($1) GROUP BY session_id",
            list(owners),
        )
    ]
    costs["firing and running a job"] = await meter.cost(fire, len(owners))
    costs["reading 50 messages"] = await meter.cost(read, len(owners))
    costs["listing 20 sessions"] = await meter.cost(listed, len(owners))
    costs["looking for work, nothing due"] = await meter.cost(lambda: _look(kernel), _OPERATIONS)
    return costs


async def _look(kernel: Kernel) -> None:
    for _ in range(_OPERATIONS):
        await kernel.workers.timer.step()


async def _each(keys: Mapping[str, Owner] | list[str], act: Callable[[str], Awaitable[object]]) -> None:
    waiting = list(keys)
    for first in range(0, len(waiting), _AT_ONCE):
        await asyncio.gather(*(act(key) for key in waiting[first : first + _AT_ONCE]))


def _compare(before: Mapping[str, Cost], cold: Mapping[str, Cost], warm: Mapping[str, Cost]) -> None:
    print(f"\n{'the database, per operation':34}{'empty':>18}{'full, first time':>22}{'full, again':>20}")
    for name, small in before.items():
        cells = [
            f"{each.cpu_ms:8.2f} ms {each.log_bytes / 1000:6.1f} kB"
            for each in (small, cold[name], warm[name])
        ]
        print(f"{name:34}{''.join(f'{cell:>20}' for cell in cells)}")


async def _tables(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    print(f"\n{'table':20}{'rows':>14}{'bytes a row':>14}{'of indexes':>12}{'GB':>8}")
    rows = await connection.fetch(
        "SELECT relname::TEXT AS name, reltuples::BIGINT AS rows, pg_table_size(oid) AS own, "
        "pg_indexes_size(oid) AS indexes FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 1000 ORDER BY own DESC"
    )
    for row in rows:
        own, indexes = row["own"] / row["rows"], row["indexes"] / row["rows"]
        whole = (row["own"] + row["indexes"]) / 1e9
        print(f"{row['name']:20}{row['rows']:14,}{own + indexes:14,.0f}{indexes:12,.0f}{whole:8.2f}")


async def _plans(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    walks = {query.name: await walks_in_postgres(connection, query) for query in QUERIES}
    scans = {
        name: found
        for name, found in walks.items()
        if name not in SEEN | GUESSES and any(set(each.split()) & _LARGE for each in found)
    }
    print(f"\nplans: {len(walks)} queries, {len(scans)} scan a large table or a whole index {scans or ''}")


async def _prune(kernel: Kernel, meter: Meter) -> None:
    """Half of the runs are the newest of their jobs and stay, and so do their turns."""
    assert kernel.settings.retention_days * DAY_MS < OLD_MS
    gone = 0

    async def prune() -> None:
        nonlocal gone
        gone = await kernel.workers.pruner.step()

    cost = await meter.cost(prune)
    rate, log = gone / (cost.cpu_ms / 1000), cost.log_bytes / gone
    print(
        f"\npruned {gone:,} runs and turns: {rate:,.0f} per second of processor time, {log:,.0f} bytes of log"
    )


async def _vacuum(meter: Meter, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    print(f"\n{'vacuum':20}{'processor time, s':>20}{'log, MB':>12}")
    for table in ("sessions", "turns", "runs", "jobs", "events"):
        cost = await meter.cost(partial(connection.execute, f"VACUUM {table}"))
        print(f"{table:20}{cost.cpu_ms / 1000:20.1f}{cost.log_bytes / 1e6:12.1f}")


if __name__ == "__main__":
    main()
