"""The database as simulated processes reach it: over a wire, with all that can happen on one.

A request that was sent is carried out, whatever becomes of its sender: a host may be killed or frozen while
its transaction commits, and the answer comes late or never. The wire may also fail before or after the
commit; the caller is then told the same in both cases.
"""

import asyncio
import contextvars
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from segue.errors import StoreUnavailable, Undecided
from segue.store.database import Begin, Database, Params, Rows, Transaction
from segue.store.queries import Query
from tests.simulation.loop import Host, SimulatedLoop
from tests.simulation.observer import sign

T = TypeVar("T")

QUICK = 0.02
"""Seconds that a request takes to arrive, at most, while all is well."""


class Buried(BaseException):
    """Raised in the tasks of a host that was killed."""


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, as those of the inline driver."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("an inline database must not wait")


@dataclass
class NetworkFaults:
    """Faults of the connections to the database."""

    lost_before: float = 0.0
    """The share of requests that fail and were not carried out."""
    lost_after: float = 0.0
    """The share of transactions that commit and whose callers are told that they failed."""
    longest_trip: float = QUICK
    longest_silence: float = 1.0
    """Seconds until another host's write is noticed, at most: rings come late or not at all."""


@dataclass
class Server:
    """The one database behind all wires."""

    database: Database
    loop: SimulatedLoop
    rng: random.Random
    faults: NetworkFaults
    wires: list["Wire"] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    commits: int = 0
    on_fault: Callable[[Host], None] = lambda host: None

    def __post_init__(self) -> None:
        self.context = contextvars.copy_context()  # of no host: nothing that freezes one freezes the server

    def wire(self, host: Host) -> "Wire":
        wire = Wire(self, host)
        self.wires.append(wire)
        return wire

    def lease_ms(self, host: Host) -> int:
        """The machine's monotonic clock, which judges leases."""
        return round(self.loop.time() * 1000)

    def wrote(self, writer: "Wire") -> None:
        self.commits += 1
        for wire in self.wires:
            if wire is not writer:
                wire.ring_soon()


class Wire:
    """A host's database. Implements `segue.store.database.Database`."""

    def __init__(self, server: Server, host: Host) -> None:
        self.dialect = server.database.dialect
        self.last_write = server.database.last_write
        self.scans = server.database.scans
        self._server = server
        self._host = host
        self._ring: Callable[[], None] | None = None
        self._ringing = False
        self._wrote = False

    async def run_alone(self, begin: Begin[T]) -> T:
        return await self.run(begin)

    async def run(self, begin: Begin[T]) -> T:
        sent_ms = self._now_ms()

        def commit() -> T:
            self._wrote = False
            result = at_once(self._server.database.run(lambda: self._signed(begin(), sent_ms)))
            if self._wrote:
                self._server.wrote(self)
            return result

        return await self._ask(commit, writes=True)

    async def read(self, query: Query, params: Params) -> Rows:
        return await self._ask(lambda: at_once(self._server.database.read(query, params)), writes=False)

    @asynccontextmanager
    async def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AsyncIterator[None]:
        self._ring = ring
        try:
            yield
        finally:
            self._ring = None

    def ring_soon(self) -> None:
        if self._ring is None or self._ringing:
            return
        self._ringing = True
        server = self._server
        wait = server.rng.random() * server.faults.longest_silence
        server.loop.call_later(wait, self._wake, context=self._host.context)

    def _wake(self) -> None:
        self._ringing = False
        if self._ring is not None:
            self._ring()

    def follow_turn(self, turn_id: str) -> None:
        """The hint is lost."""

    def wall_ms(self) -> int:
        raise AssertionError("simulated hosts bring their own clocks")

    def lease_now(self) -> int | None:
        return self._server.lease_ms(self._host)

    async def close(self) -> None:
        pass

    async def _ask(self, act: Callable[[], T], *, writes: bool) -> T:
        if self._host.buried:
            raise Buried
        server = self._server
        answer: asyncio.Future[T] = server.loop.create_future()
        trip = server.rng.random() * server.faults.longest_trip
        if trip > QUICK:
            server.on_fault(self._host)
        server.loop.call_later(trip, self._arrive, act, answer, writes, context=server.context)
        return await answer

    def _arrive(self, act: Callable[[], T], answer: asyncio.Future[T], writes: bool) -> None:
        luck = self._server.rng.random()
        faults = self._server.faults
        lost = luck < faults.lost_before
        try:
            if lost:
                raise StoreUnavailable("lost on the way; nothing was promised")
            result = act()
            if writes and luck > 1 - faults.lost_after:
                lost = True
                raise Undecided("the answer was lost; it may be committed")
        except Exception as error:
            if lost:
                self._server.on_fault(self._host)
                self.ring_soon()  # a caller without an answer looks again, within the second
            if not answer.done():
                answer.set_exception(error)
        else:
            if not answer.done():
                answer.set_result(result)

    def _now_ms(self) -> int:
        return round(self._server.loop.time() * 1000)

    def _signed(self, transaction: Transaction[T], sent_ms: int) -> Transaction[T]:
        """The transaction, with its writer's name left where the observer's triggers find it."""
        server = self._server
        signed = False
        try:
            statement = next(transaction)
            while True:
                server.trace.append(statement[0].name)
                if not signed and not _kind(statement[0])[0]:
                    signed = True
                    yield sign, {"writer": self._host.name, "at": self._now_ms(), "sent": sent_ms}
                rows = yield statement
                self._wrote |= _changes(statement[0], rows)
                statement = transaction.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result


@cache
def _kind(query: Query) -> tuple[bool, bool]:
    return query.sqlite.startswith("SELECT"), "RETURNING" in query.sqlite


def _changes(query: Query, rows: Rows) -> bool:
    """Whether a statement left something that another host could see."""
    only_reads, tells = _kind(query)
    return not only_reads and (bool(rows) or not tells)
