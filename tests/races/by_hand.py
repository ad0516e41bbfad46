"""Transactions driven by hand: one statement at a time, each on a connection of its own.

A stage is a database, an actor is one transaction on it. `walk` lets several actors take steps in an order
that `choose` decides, as far as the database allows: an actor that waits for a lock is passed over until it
has it. `Branches` chooses so that, walk after walk, every possible order runs once. Only the order matters,
so a commit does not wait for the disk.

Replacing a query by a wrong text shows what the right text prevents.
"""

import asyncio
import contextlib
import os
import random
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import asyncpg

from segue.store import queries
from segue.store.database import Params, Rows, Statement, Transaction
from segue.store.open import open_database
from segue.store.queries import Query

T = TypeVar("T")

_POLL_SECONDS = 0.0005


class Line(Protocol):
    """A connection that knows whether it waits for another's lock."""

    async def begin(self) -> None: ...
    async def fetch(self, query: Query, params: Params) -> Rows: ...
    async def ask(self, text: str) -> Rows: ...
    async def end(self, how: str) -> None: ...
    async def waits_for_a_lock(self) -> bool: ...
    async def close(self) -> None: ...


class PostgresLine:
    def __init__(
        self, connection: "asyncpg.Connection[Any]", watcher: "asyncpg.Connection[Any]", watched: asyncio.Lock
    ) -> None:
        self._connection = connection
        self._watcher = watcher
        self._watched = watched

    async def begin(self) -> None:
        await self._connection.execute("BEGIN")

    async def fetch(self, query: Query, params: Params) -> Rows:
        return await self._connection.fetch(query.postgres, *(params[name] for name in query.parameters))

    async def ask(self, text: str) -> Rows:
        return await self._connection.fetch(text)

    async def end(self, how: str) -> None:
        await self._connection.execute(how)

    async def waits_for_a_lock(self) -> bool:
        pid = self._connection.get_server_pid()
        async with self._watched:
            return bool(await self._watcher.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", pid))

    async def close(self) -> None:
        await self._connection.close()


class SqliteLine:
    """SQLite has one lock for the whole file, taken when a transaction begins."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._waits = False

    async def begin(self) -> None:
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                self._waits = True
                await asyncio.sleep(_POLL_SECONDS)
            else:
                self._waits = False
                return

    async def fetch(self, query: Query, params: Params) -> Rows:
        return self._connection.execute(query.sqlite, params).fetchall()

    async def ask(self, text: str) -> Rows:
        return self._connection.execute(text).fetchall()

    async def end(self, how: str) -> None:
        self._connection.execute(how)

    async def waits_for_a_lock(self) -> bool:
        return self._waits

    async def close(self) -> None:
        self._connection.close()


class Stage:
    """A database on which transactions are driven by hand."""

    def __init__(self, dialect: str, connect: Callable[[], Any]) -> None:
        self.dialect = dialect
        self._connect = connect
        self._free: list[Line] = []
        self._all: list[Line] = []

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        if not self._free:
            self._free.append(await self._connect())
            self._all += self._free
        line = self._free.pop()
        yield line
        self._free.append(line)

    def actor(self, name: str, transaction: Transaction[Any], wrong: "Wrong | None" = None) -> "Actor":
        return Actor(self, name, transaction, wrong or {})

    async def perform(self, transaction: Transaction[T], wrong: "Wrong | None" = None) -> T:
        """Run a whole transaction. Returns its result or raises its error."""
        actor = self.actor("alone", transaction, wrong)
        while not actor.finished:
            await actor.step()
        if actor.error is not None:
            raise actor.error
        result: T = actor.result
        return result

    async def ask(self, text: str) -> Rows:
        async with self.line() as line:
            return await line.ask(text)

    async def count(self, what: str) -> int:
        """The number of rows of `FROM …`."""
        found: int = (await self.ask(f"SELECT COUNT(*) AS found {what}"))[0]["found"]
        return found

    async def broken(self) -> dict[str, int]:
        """The invariants that do not hold, each with the number of rows that break it."""
        async with self.line() as line:
            found = {query.name: len(await line.fetch(query, {"horizon": 0})) for query in queries.audit}
        return {name: rows for name, rows in found.items() if rows}

    async def close(self) -> None:
        for line in self._all:
            await line.close()


Wrong = Mapping[str, Callable[[Query], Query]]
"""Replacements of queries, by name."""


def without(*patterns: str) -> Callable[[Query], Query]:
    """A query without the text that matches the patterns; each pattern must match."""

    def cut(query: Query) -> Query:
        for pattern in patterns:
            shorter = re.sub(pattern, "", query.postgres), re.sub(pattern, "", query.sqlite)
            assert query.postgres != shorter[0] or query.sqlite != shorter[1], (
                f"{query.name} has no {pattern}"
            )
            query = replace(query, postgres=shorter[0], sqlite=shorter[1])
        return _renumbered(query)

    return cut


def _renumbered(query: Query) -> Query:
    """PostgreSQL refuses parameters that the text no longer uses."""
    used = [name for n, name in enumerate(query.parameters, 1) if re.search(rf"\${n}(?!\d)", query.postgres)]

    def number(match: re.Match[str]) -> str:
        return f"${used.index(query.parameters[int(match.group(1)) - 1]) + 1}"

    return replace(query, postgres=re.sub(r"\$(\d+)", number, query.postgres), parameters=tuple(used))


class Actor:
    """One transaction. A step is a statement, or the commit at the end."""

    def __init__(self, stage: Stage, name: str, transaction: Transaction[Any], wrong: Wrong) -> None:
        self.name = name
        self.result: Any = None
        self.error: Exception | None = None
        self.finished = False
        self._stage = stage
        self._transaction = transaction
        self._wrong = wrong
        self._next: Statement | None = None
        self._context = contextlib.AsyncExitStack()
        self._line: Line | None = None
        self._current_step: asyncio.Task[None] | None = None

    @property
    def blocked(self) -> bool:
        return self._current_step is not None

    @property
    def at(self) -> str:
        """The statement that comes next."""
        return self._next[0].name if self._next else "commit" if self._line else "begin"

    async def step(self) -> None:
        if self._current_step is None:
            self._current_step = asyncio.create_task(self._take_step())
        await self.look()

    async def look(self) -> None:
        """Wait until the current step is done, or is known to wait for a lock."""
        while self._current_step is not None:
            done, _ = await asyncio.wait([self._current_step], timeout=_POLL_SECONDS)
            if done:
                task, self._current_step = self._current_step, None
                task.result()
            elif self._line is not None and await self._line.waits_for_a_lock():
                return

    async def until(self, statement: str) -> None:
        """Up to, and not including, a statement."""
        while self.at != statement:
            assert not self.finished, f"{self.name} never came to {statement}: {self.error!r}"
            await self.step()
            assert not self.blocked, f"{self.name} waits before {statement}"

    async def _take_step(self) -> None:
        try:
            if self._line is None:
                self._line = await self._context.enter_async_context(self._stage.line())
                await self._line.begin()
                self._next = next(self._transaction)
            if self._next is not None:
                rows = await self._run(self._line, *self._next)
                self._next = self._transaction.send(rows)
            else:
                await self._end("COMMIT")
        except StopIteration as stop:
            self.result, self._next = stop.value, None
        except Exception as error:
            self.error = error
            await self._end("ROLLBACK")

    async def _run(self, line: Line, query: Query, params: Params | Sequence[Params]) -> Rows:
        if query.name in self._wrong:
            query = self._wrong[query.name](query)
        if not isinstance(params, Sequence):
            return await line.fetch(query, params)
        return [row for each in params for row in await line.fetch(query, each)]

    async def _end(self, how: str) -> None:
        assert self._line is not None  # it has begun
        await self._line.end(how)
        await self._context.aclose()
        self.finished = True


async def walk(actors: Sequence[Actor], choose: Callable[[Sequence[Actor]], Actor]) -> list[str]:
    """Run all actors to their ends in the order that `choose` decides. Returns that order."""
    order: list[str] = []
    while unfinished := [actor for actor in actors if not actor.finished]:
        # In a deadlock, the database ends one of them.
        if ready := [actor for actor in unfinished if not actor.blocked]:
            actor = choose(ready)
            order.append(f"{actor.name}: {actor.at}")
            await actor.step()
        for other in unfinished:
            await other.look()
    return order


LONG = os.environ.get("SEGUE_LONG") == "1"


def orders(few: int, many: int) -> Iterator[Callable[[Sequence[Actor]], Actor]]:
    """Random orders, the same ones each time: a few, and many in the long form."""
    yield from (_order(random.Random(seed)) for seed in range(many if LONG else few))


def _order(chance: random.Random) -> Callable[[Sequence[Actor]], Actor]:
    """Each actor has its own pace: otherwise an actor with one statement would nearly always be first."""
    paces: dict[str, float] = {}

    def choose(ready: Sequence[Actor]) -> Actor:
        weights = [paces.setdefault(actor.name, chance.random() ** 3) for actor in ready]
        return chance.choices(ready, weights)[0]

    return choose


class Branches:
    """Every order once: each walk takes the next branch at the last fork that has one left."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []
        self._depth = 0

    def __iter__(self) -> Iterator[Callable[[Sequence[Actor]], Actor]]:
        while True:
            self._depth = 0
            yield self._choose
            while self._taken and self._taken[-1][0] + 1 == self._taken[-1][1]:
                self._taken.pop()
            if not self._taken:
                return
            way, ways = self._taken[-1]
            self._taken[-1] = (way + 1, ways)

    def _choose(self, ready: Sequence[Actor]) -> Actor:
        if self._depth == len(self._taken):
            self._taken.append((0, len(ready)))
        way, ways = self._taken[self._depth]
        assert ways == len(ready), "the same steps led to another fork"
        self._depth += 1
        return ready[way]


@asynccontextmanager
async def stage(url: str) -> AsyncIterator[Stage]:
    """A database with Segue's schema and no other client."""
    await (await open_database(url)).close()
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")

        async def connect() -> Line:
            return SqliteLine(path)

        made = Stage("sqlite", connect)
        try:
            yield made
        finally:
            await made.close()
        return
    watcher = await asyncpg.connect(url)
    watched = asyncio.Lock()

    async def join() -> Line:
        # A deadlock is a finding; PostgreSQL would wait a second before it reports one.
        settings = {"deadlock_timeout": "10ms", "synchronous_commit": "off"}
        return PostgresLine(await asyncpg.connect(url, server_settings=settings), watcher, watched)

    made = Stage("postgres", join)
    try:
        yield made
    finally:
        await made.close()
        await watcher.close()
