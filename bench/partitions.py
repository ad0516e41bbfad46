"""Partitions by time: what they would cost and save on PostgreSQL, beside the tables as they are.

    python -m bench.partitions --rows 2000000

Two tables with the columns and indexes of the log, and two with those of turns; one of each pair is
partitioned by month. Processor time of the database, not wall time (decision 0074).
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import md5

import asyncpg

from bench.growth import Meter
from tests.postgres import temporary_server

_MONTHS = 24
_PER_SESSION = 20
_LOOKUPS = 2_000
_BATCH = 500
_TEXT = "It is a plain answer of some length, as a model would give it. " * 4

_COLUMNS = {
    "events": "session_id TEXT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, role TEXT, content TEXT",
    "turns": "id TEXT NOT NULL, session_id TEXT NOT NULL, at BIGINT NOT NULL, state TEXT, content TEXT",
}
_KEYS = {"events": "session_id, seq", "turns": "id"}
_ROWS = {
    "events": "md5((n % {sessions})::TEXT), n / {sessions}, n, 'user', '{text}'",
    "turns": "lpad(to_hex(n), 28, '0'), md5((n % {sessions})::TEXT), n, 'done', '{text}'",
}
"""Row n is of the moment n, in the session n modulo the number of sessions."""


async def _create(connection: "asyncpg.Connection[asyncpg.Record]", rows: int) -> None:
    for kind, columns in _COLUMNS.items():
        key = _KEYS[kind]
        await connection.execute(f"CREATE TABLE plain_{kind} ({columns}, PRIMARY KEY ({key}))")
        await connection.execute(
            f"CREATE TABLE monthly_{kind} ({columns}, PRIMARY KEY ({key}, at)) PARTITION BY RANGE (at)"
        )
        for month in range(_MONTHS + 1):
            first, last = rows * month // _MONTHS, rows * (month + 1) // _MONTHS
            await connection.execute(
                f"CREATE TABLE monthly_{kind}_{month} PARTITION OF monthly_{kind} "
                f"FOR VALUES FROM ({first}) TO ({last})"
            )
    for shape in ("plain", "monthly"):
        await connection.execute(f"CREATE INDEX ON {shape}_turns (session_id, id)")
    await connection.execute("CREATE INDEX ON plain_turns (at)")


async def _insert(
    connection: "asyncpg.Connection[asyncpg.Record]", table: str, first: int, last: int, sessions: int
) -> None:
    kind = table.partition("_")[2]
    values = _ROWS[kind].format(sessions=sessions, text=_TEXT)
    await connection.execute(
        f"INSERT INTO {table} SELECT {values} FROM generate_series({first}, {last - 1}) AS n"
    )


async def _measure(rows: int) -> None:
    with temporary_server() as server:
        connection = await asyncpg.connect(server.url)
        meter, sessions = Meter(server, connection), rows // _PER_SESSION
        inserts = min(1_000, rows // _MONTHS // 20)
        await _create(connection, rows)
        print(f"{rows:,} rows in each table, {sessions:,} sessions, {_MONTHS} months")
        print(f"\n{'processor time of the database':56}{'plain':>12}{'monthly':>12}")

        async def both(name: str, unit: float, work: Callable[[str], Awaitable[None]], count: int) -> None:
            spent = [await meter.cost(partial(work, shape), count) for shape in ("plain", "monthly")]
            print(f"{name:56}" + "".join(f"{each.cpu_ms * unit:12.3f}" for each in spent))

        for kind in _COLUMNS:
            for shape in ("plain", "monthly"):
                for first in range(0, rows, 100_000):
                    await _insert(connection, f"{shape}_{kind}", first, min(rows, first + 100_000), sessions)
        await connection.execute("VACUUM ANALYZE")

        async def insert(shape: str) -> None:
            for first in range(rows, rows + 20 * inserts, 20):
                await _insert(connection, f"{shape}_events", first, first + 20, sessions)

        async def read(shape: str) -> None:
            asked = await connection.prepare(
                f"SELECT seq, at, role, content FROM {shape}_events "
                "WHERE session_id = $1 ORDER BY seq DESC LIMIT 20"
            )
            for number in range(_LOOKUPS):
                await asked.fetch(_md5(number * 7 % sessions))

        async def find(shape: str) -> None:
            asked = await connection.prepare(f"SELECT session_id, state FROM {shape}_turns WHERE id = $1")
            for number in range(_LOOKUPS):
                await asked.fetch(f"{number * 7919 % rows:028x}")

        async def newest(shape: str) -> None:
            asked = await connection.prepare(
                f"SELECT id, state FROM {shape}_turns WHERE session_id = $1 ORDER BY id DESC LIMIT 20"
            )
            for number in range(_LOOKUPS):
                await asked.fetch(_md5(number * 7 % sessions))

        async def prune(shape: str) -> None:
            old = rows // _MONTHS
            if shape == "monthly":
                await connection.execute("DROP TABLE monthly_turns_0")
                return
            for first in range(0, old, _BATCH):
                await connection.execute(
                    "DELETE FROM plain_turns WHERE at >= $1 AND at < $2", first, min(old, first + _BATCH)
                )
            await connection.execute("VACUUM plain_turns")

        await both("events: inserting 20, ms", 1, insert, inserts)
        await both("events: reading a transcript of 20, ms", 1, read, _LOOKUPS)
        await both("turns: finding one by its id, ms", 1, find, _LOOKUPS)
        await both("turns: the newest 20 of a session, ms", 1, newest, _LOOKUPS)
        await both(f"turns: a month ({rows // _MONTHS:,} rows) goes, with vacuum, s", 0.001, prune, 1)
        await connection.close()


def _md5(number: int) -> str:
    return md5(str(number).encode(), usedforsecurity=False).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    asyncio.run(_measure(parser.parse_args().rows))


if __name__ == "__main__":
    main()
