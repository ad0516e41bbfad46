"""Merging memories: duplicates are removed, a failed run is recorded, and the job cannot be removed."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from segue import Kernel, Outcome, Owner
from segue.agents.routines import merge_memories
from segue.errors import Conflict, StoreError
from segue.store import queries
from segue.store.database import Database, Params, Rows
from segue.store.open import open_database
from segue.testing import FaultyStore, ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel

CHAT = "web:1"
ME = Owner()


@pytest_asyncio.fixture(loop_scope="session")
async def merging(open_kernel: OpenKernel) -> AsyncIterator[Kernel]:
    kernel: Kernel
    kernel = await open_kernel(functions={merge_memories.FUNCTION: merge_memories.merge_memories})
    yield kernel


async def say(kernel: Kernel, *words: str, owner: Owner = ME) -> None:
    await kernel.log.write_all(CHAT, [("user", word) for word in words], owner=owner)
    await kernel.memory.commit(CHAT, owner=owner)
    await quiet(kernel)


async def test_memories_that_say_the_same_become_one(merging: Kernel, clock: ManualClock) -> None:
    other = Owner("default", "other")
    for owner in (ME, other):
        await say(merging, "I live in Rome, near the river.", "I prefer tea.", owner=owner)
        (tea,) = [m for m in await merging.memory.list(owner=owner) if "tea" in m.content]
        clock.advance(minutes=1)
        await merging.memory.update(tea.id, content="I live in Rome near the river", kind="fact", owner=owner)
    await merge_memories.install(merging)
    clock.advance(hours=2)
    await quiet(merging)
    for owner in (ME, other):
        known = [memory.content for memory in await merging.memory.list(owner=owner)]
        assert known == ["I live in Rome near the river"]


async def test_it_runs_every_two_hours_and_leaves_a_record(merging: Kernel, clock: ManualClock) -> None:
    job = await merge_memories.install(merging)
    assert (await merge_memories.install(merging)).id == job.id
    for _ in range(3):
        clock.advance(hours=2)
        await quiet(merging)
    assert [run.outcome for run in await merging.runs.list(job=job.id)] == [Outcome.EMPTY] * 3
    with pytest.raises(Conflict):
        await merging.jobs.delete(job.id)


async def test_a_run_that_fails_is_recorded_as_failed(open_kernel: OpenKernel, clock: ManualClock) -> None:
    async def broken(turn: object) -> None:
        raise RuntimeError("broken")

    kernel = await open_kernel(functions={merge_memories.FUNCTION: broken})
    job = await merge_memories.install(kernel)
    clock.advance(hours=2)
    await quiet(kernel)
    (run,) = await kernel.runs.list(job=job.id)
    assert run.outcome is Outcome.ERROR
    assert "broken" in (run.error or "")


class NoMemories(FaultyStore):
    """A database from which memories cannot be read."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, fail_at=0)

    async def read(self, query: queries.Query, params: Params) -> Rows:
        if query is queries.memories.next_owner:
            raise StoreError("the table of memories is damaged")
        return await super().read(query, params)


async def test_a_run_that_fails_in_the_store_has_the_stores_error(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """11.1: not that its worker was lost."""
    kernel: Kernel
    database = NoMemories(await open_database(database_url))
    kernel = Kernel(
        database,
        agent=agent,
        clock=clock,
        functions={merge_memories.FUNCTION: merge_memories.merge_memories},
    )
    async with kernel:
        job = await merge_memories.install(kernel)
        clock.advance(hours=2)
        await quiet(kernel)
        (run,) = await kernel.runs.list(job=job.id)
        assert run.outcome is Outcome.ERROR
        assert "the table of memories is damaged" in (run.error or "")
        clock.advance(minutes=1)
        await kernel.workers.reaper.step()
        assert "the table of memories is damaged" in ((await kernel.jobs.get(job.id)).last_error or "")
        assert not await kernel.audit()
    await database.close()


async def test_its_session_is_not_shown_to_users(merging: Kernel, clock: ManualClock) -> None:
    """Its session is no conversation, neither before a run nor after one with an answer."""
    await say(merging, "I live in Rome.")
    await merge_memories.install(merging)
    clock.advance(hours=2)
    await quiet(merging)
    assert (await merging.sessions.get(merge_memories.SESSION)).key == merge_memories.SESSION
    assert [session.key for session in await merging.sessions.list()] == [CHAT]
    assert [there.session.key for there in await merging.sessions.overviews(limit=10)] == [CHAT]
