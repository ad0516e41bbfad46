"""Who owns a session, and how it is deleted."""

import pytest

from segue import Ask, At, Every, Idle, JobKind, Kernel, Owner, Say
from segue.errors import Conflict, NotFound, SessionHasJobs
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, said, under_way

ADA = Owner("home", "ada")
BOB = Owner("home", "bob")
NOTHING = dict.fromkeys(("sessions", "turns", "jobs", "runs", "events", "deliveries"), 0)


@pytest.mark.parametrize("other", [BOB, Owner("work", "ada")], ids=["another user", "another account"])
async def test_the_same_key_under_two_owners_is_two_sessions(kernel: Kernel, other: Owner) -> None:
    await kernel.receive(CHAT, "I am Ada.", owner=ADA)
    with pytest.raises(NotFound):
        await kernel.sessions.get(CHAT, owner=other)
    await kernel.receive(CHAT, "I am not.", owner=other)
    await quiet(kernel)
    assert await said(kernel, owner=ADA) == [("user", "I am Ada."), ("assistant", "ok")]
    assert await said(kernel, owner=other) == [("user", "I am not."), ("assistant", "ok")]
    assert [session.title for session in await kernel.sessions.list(owner=ADA)] == ["I am Ada."]


async def test_anothers_job_is_not_found(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), owner=ADA)
    await kernel.log.write(CHAT, "user", "Hello", owner=BOB)
    for verb in (
        kernel.jobs.get,
        kernel.jobs.pause,
        kernel.jobs.resume,
        kernel.jobs.skip,
        kernel.jobs.delete,
        kernel.jobs.update,
    ):
        with pytest.raises(NotFound):
            await verb(job.id, owner=BOB)
    assert await kernel.jobs.list(CHAT, owner=BOB, ended=True) == []
    assert await kernel.jobs.get(job.id, owner=ADA) == job


async def test_anothers_session_can_be_neither_stopped_nor_read_nor_deleted(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "Hello", owner=ADA)
    async with under_way(kernel, agent):
        for look in (
            kernel.turns.stop,
            kernel.messages,
            kernel.log.events,
            kernel.runs.list,
            kernel.log.deliveries,
            kernel.sessions.delete,
        ):
            with pytest.raises(NotFound):
                await look(CHAT, owner=BOB)
    assert await said(kernel, owner=ADA) == [("user", "Hello"), ("assistant", "ok")]


async def test_a_session_that_owns_jobs_names_them_before_it_goes(kernel: Kernel) -> None:
    active = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    paused = await kernel.schedule(CHAT, Every(60), Ask("Stare."))
    await kernel.jobs.pause(paused.id)
    before = await count_rows(kernel)
    with pytest.raises(SessionHasJobs) as blocked:
        await kernel.sessions.delete(CHAT)
    assert [getattr(job, "id", None) for job in blocked.value.jobs] == [active.id, paused.id]
    assert await count_rows(kernel) == before


async def test_however_many_jobs_have_ended_one_that_has_not_blocks(
    kernel: Kernel, clock: ManualClock
) -> None:
    for n in range(30):
        await kernel.schedule(CHAT, At(clock.now()), Ask("Look."), job_id=f"a{n}")
    await quiet(kernel)
    last = await kernel.schedule(CHAT, Every(60), Ask("Look."), job_id="b")
    with pytest.raises(SessionHasJobs) as blocked:
        await kernel.sessions.delete(CHAT)
    assert [getattr(job, "id", None) for job in blocked.value.jobs] == [last.id]


async def test_a_session_goes_with_its_jobs_when_that_is_said(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.schedule(CHAT, Every(60), Say("Drink."))
    await kernel.receive(CHAT, "Hello")
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    await kernel.sessions.delete(CHAT, with_jobs=True)
    assert await count_rows(kernel) == NOTHING
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await count_rows(kernel) == NOTHING


async def test_recalls_messages_and_system_jobs_do_not_block(kernel: Kernel) -> None:
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("Ask."), kind=JobKind.RECALL)
    await kernel.schedule(CHAT, At("in 1 hour"), Say("Drink."))
    await kernel.schedule(CHAT, Idle(600), Ask("Sum up."), kind=JobKind.SYSTEM, protected=True)
    await kernel.sessions.delete(CHAT)
    assert await count_rows(kernel) == NOTHING


async def test_a_one_shot_that_has_run_does_not_block(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("Look."))
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.sessions.delete(CHAT)
    assert await count_rows(kernel) == NOTHING


async def test_what_a_turn_of_a_deleted_session_would_still_write_misses(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        await kernel.sessions.delete(CHAT, with_jobs=True)
        assert await count_rows(kernel) == NOTHING
    assert await count_rows(kernel) == NOTHING


async def test_a_turn_of_a_deleted_session_is_cancelled(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        await kernel.sessions.delete(CHAT)
        await kernel.workers.keeper.step()
    assert len(kernel.workers.turns) == 0


async def test_a_session_created_again_has_nothing_of_the_old_one(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        await kernel.sessions.delete(CHAT)
        await kernel.receive(CHAT, "Hello again")
    await quiet(kernel)
    assert await said(kernel) == [("user", "Hello again"), ("assistant", "ok")]
    assert agent.asked[-1].history == []


async def test_deleting_what_is_not_there_says_so(kernel: Kernel) -> None:
    with pytest.raises(NotFound):
        await kernel.sessions.delete(CHAT)


async def test_the_newest_conversation_is_first(kernel: Kernel, clock: ManualClock) -> None:
    for key in ("web:a", "web:b", "web:c"):
        clock.advance(minutes=1)
        await kernel.log.write(key, "user", "Hello")
    clock.advance(minutes=1)
    await kernel.log.write("web:a", "user", "Hello again")
    assert [session.key for session in await kernel.sessions.list()] == ["web:a", "web:c", "web:b"]


async def test_a_job_id_is_taken_in_every_session(open_kernel: OpenKernel, clock: ManualClock) -> None:
    kernel = await open_kernel()
    await kernel.schedule(CHAT, Every(60), Ask("Look."), job_id="look", owner=ADA)
    with pytest.raises(Conflict):
        await kernel.schedule(CHAT, Every(60), Ask("Look."), job_id="look", owner=BOB)
    with pytest.raises(NotFound):
        await kernel.sessions.get(CHAT, owner=BOB)
