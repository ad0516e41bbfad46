"""A transaction that was rolled back is driven again from its start, with the same effect.

Every transaction of every call and worker is rehearsed: driven to its end, rolled back, and driven again. The
database must be as if there had been no rehearsal.
"""

import random
from contextlib import suppress
from datetime import timedelta

from segue import Ask, At, Every, Idle, Kernel, Say, Stored
from segue.store.database import Begin, Database, T, Transaction
from segue.store.open import open_database
from segue.store.queries import translate
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.testing.forwarding import ForwardingDatabase

KEY = "test:1"
TABLES = (
    *("sessions", "turns", "jobs", "runs", "events", "deliveries"),
    *("recalls", "scheduled_messages", "archives", "tasks", "memories"),
)


class _RolledBack(Exception):
    pass


class Rehearsing(ForwardingDatabase):
    """Drives each transaction twice, and commits the second time only."""

    rehearsals = 0

    async def run(self, begin: Begin[T]) -> T:
        def rehearsal() -> Transaction[None]:
            yield from begin()
            raise _RolledBack

        with suppress(Exception):
            await super().run(rehearsal)
        self.rehearsals += 1
        return await super().run(begin)


async def a_day(kernel: Kernel, clock: ManualClock) -> None:
    """Calls of every kind; no two things are due at once, because their order would be open."""
    at_first, then = (clock.now() + timedelta(seconds=seconds) for seconds in (15, 25))
    await kernel.sessions.open("test:2", title="Another")
    await kernel.log.write("test:2", "user", "I live in Lyon.")
    await kernel.log.write("test:2", "assistant", "Noted.")
    once = await kernel.schedule(KEY, At(at_first), Ask("What is new?"))
    await kernel.schedule(KEY, At(then), Say("Hello."))
    often = await kernel.schedule(KEY, Every(70), Ask("And now?"))
    await kernel.schedule(KEY, Idle(55), Ask("Quiet?"))
    await kernel.recalls.add(KEY, "Look again", when="in 100 seconds")
    await kernel.scheduled_messages.add(KEY, "in 3 minutes", "Your flight leaves at noon.")
    message = await kernel.scheduled_messages.add(KEY, "in 4 minutes", "Never mind.")
    first = await kernel.receive(KEY, "hello")
    second = await kernel.receive(KEY, "and again", when_busy="interrupt")
    await kernel.turns.cancel(second.turn_id)
    await quiet(kernel)
    assert (await kernel.wait(first)).outcome
    await kernel.jobs.skip(often.id)
    await kernel.jobs.pause(often.id)
    await kernel.jobs.update(once.id, trigger=Every(90))
    await kernel.jobs.resume(often.id)
    await kernel.scheduled_messages.cancel(message.message.id)
    for _ in range(24):
        clock.advance(seconds=10)
        await quiet(kernel)
    await kernel.memory.commit("test:2", keep_recent_count=0)
    await quiet(kernel)
    await kernel.jobs.delete(often.id)
    await kernel.receive("test:2", "Where do I live?", when_busy="reject")
    await kernel.turns.stop("test:2")
    clock.advance(days=2)
    await quiet(kernel)
    await kernel.sessions.delete("test:2", with_jobs=True)


async def after_a_day(database: Database) -> dict[str, list[list[str]]]:
    """The rows of every table."""
    clock = ManualClock()
    kernel = Kernel(
        database,
        agent=ScriptedAgent(),
        clock=clock,
        channels=[RecordingChannel("test", idempotent=True), Stored("web")],
        rng=random.Random(7),
        name="worker",
    )
    async with kernel:
        await a_day(kernel, clock)
        assert not await kernel.audit()
    return {table: await rows_of(database, table) for table in TABLES}


async def rows_of(database: Database, table: str) -> list[list[str]]:
    found = await database.read(translate(f"{table}.all", f"SELECT * FROM {table}"), {})
    return sorted([*map(str, row)] for row in found)


async def test_a_rehearsal_leaves_no_trace(database_url: str) -> None:
    plain = await open_database("sqlite://:memory:")
    rehearsing = Rehearsing(await open_database(database_url))
    assert await after_a_day(rehearsing) == await after_a_day(plain)
    assert rehearsing.rehearsals > 100
    await plain.close()
    await rehearsing.close()
