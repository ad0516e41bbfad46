"""A user cancels, removes, moves or deletes while the timer fires and a worker starts the turn.

Three transactions, their statements in any order that the database allows. A caller that was told of success
can rely on it: no turn starts afterwards. A caller that came too late gets an error.
"""

from segue.errors import AlreadyStarted, Conflict, NotFound
from segue.kernel.transactions import jobs, lane, sessions
from segue.kernel.transactions.lane import Pool
from segue.model.records import Job, Owner
from segue.model.states import JobState
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows
from tests.races.by_hand import Actor, Stage, orders, stage, walk
from tests.races.scenes import NOW, Scene, fires, moved, removed, settled

LATER = NOW + 3_600_000

OPEN = "FROM turns WHERE state IN ('queued', 'running')"


async def nothing_is_orphaned(on: Stage) -> None:
    assert not await on.broken()
    for table in ("turns", "runs", "jobs", "deliveries", "events"):
        orphans = f"FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)"
        assert await on.count(orphans) == 0, table
    assert (
        await on.count("FROM runs WHERE turn_id IS NOT NULL AND turn_id NOT IN (SELECT id FROM turns)") == 0
    )


async def settle_what_was_taken_up(on: Stage, worker: Actor) -> int:
    for held in worker.result:
        await on.perform(settled(held))
    return len(worker.result)


async def test_after_a_removal_nothing_starts_or_the_caller_is_told_of_the_start(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            job = await scene.due_job()
            removal = on.actor("removal", removed(job))
            slot = on.actor("slot", fires(job))
            worker = on.actor("worker", scene.leased("worker", Pool.SCHEDULE))
            order = await walk([removal, slot, worker], choose)
            assert (slot.error, worker.error) == (None, None), order
            if removal.error is None:
                assert slot.result is None, order
                assert worker.result == [], order
                assert await on.count(OPEN) == 0, order
            else:
                assert isinstance(removal.error, Conflict), order
                assert slot.result is not None, order
                started = await settle_what_was_taken_up(on, worker)
                assert started + len(await scene.drained()) == 1, order
        await nothing_is_orphaned(on)


async def test_a_removal_withdraws_the_run_that_waits_or_lets_the_started_one_end(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            job = await scene.due_job(repeats=True)
            await on.perform(fires(job))
            removal = on.actor("removal", _removed_as_stored(job))
            worker = on.actor("worker", scene.leased("worker", Pool.SCHEDULE))
            message = on.actor("message", scene.arrives("hello"))
            order = await walk([removal, worker, message], choose)
            assert [actor.error for actor in (removal, worker, message)] == [None] * 3, order
            began_before = [held.turn.content for held in worker.result]
            await settle_what_was_taken_up(on, worker)
            assert [held.turn.content for held in await scene.drained()] == ["hello"], order
            outcomes = await on.ask(f"SELECT outcome FROM runs_told WHERE job_id = '{job.id}'")
            assert [row["outcome"] for row in outcomes] == ["ok" if began_before else "cancelled"], order
        await nothing_is_orphaned(on)


async def test_a_removal_in_unified_mode_locks_the_common_session_first(database_url: str) -> None:
    """A message locks it first too; the other order would end in a deadlock."""
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            job = await scene.due_job(repeats=True)
            await on.perform(fires(job, unified=True))
            removal = on.actor("removal", _removed_as_stored(job))
            message = on.actor("message", scene.arrives("hello", unified=True))
            order = await walk([removal, message], choose)
            assert [removal.error, message.error] == [None] * 2, order
            assert [held.turn.content for held in await scene.drained()] == ["hello"], order
        await nothing_is_orphaned(on)


def deletes(owner: Owner, key: str) -> Transaction[object]:
    named = {"account": owner.account, "user_id": owner.user, "key": key}
    found = yield queries.sessions.by_key, named
    return (yield from sessions.delete(rows.session(found[0]), with_jobs=True, now=NOW))


def _removed_as_stored(job: Job) -> Transaction[object]:
    current = yield from jobs.load(job.id)
    return (yield from removed(current))


async def test_a_cancelled_turn_never_starts_and_a_started_one_is_not_cancelled(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            admitted = await on.perform(scene.arrives("first"))
            cancel = on.actor("cancel", lane.cancel(admitted.value.turn_id, "not wanted", NOW))
            worker = on.actor("worker", scene.leased("worker"))
            message = on.actor("message", scene.arrives("second"))
            order = await walk([cancel, worker, message], choose)
            assert (worker.error, message.error) == (None, None), order
            ran = [held.turn.content for held in worker.result]
            await settle_what_was_taken_up(on, worker)
            ran += [held.turn.content for held in await scene.drained()]
            if cancel.error is None:
                assert ran == ["second"], order
            else:
                assert isinstance(cancel.error, AlreadyStarted), order
                assert ran == ["first", "second"], order
        await nothing_is_orphaned(on)


async def test_a_job_that_was_moved_keeps_its_new_moment_or_has_already_fired(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            job = await scene.due_job()
            move = on.actor("move", moved(job, LATER))
            slot = on.actor("slot", fires(job))
            other_timer = on.actor("other timer", fires(job))
            order = await walk([move, slot, other_timer], choose)
            assert (slot.error, other_timer.error) == (None, None), order
            fired = [actor for actor in (slot, other_timer) if actor.result is not None]
            there = (await on.ask(f"SELECT state, next_at FROM jobs WHERE id = '{job.id}'"))[0]
            if move.error is None:
                assert fired == [], order
                assert (there["state"], there["next_at"]) == (JobState.ACTIVE, LATER), order
            else:
                assert isinstance(move.error, Conflict), order
                assert len(fired) == 1, order
                assert (there["state"], there["next_at"]) == (JobState.ENDED, None), order
            assert len(await scene.drained()) == len(fired), order
        await nothing_is_orphaned(on)


async def test_a_deleted_session_leaves_nothing_behind_whatever_was_under_way(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            job = await scene.due_job(repeats=True)
            await on.perform(scene.arrives("first"))
            deletion = on.actor("deletion", deletes(scene.owner, scene.key))
            slot = on.actor("slot", fires(job))
            worker = on.actor("worker", scene.leased("worker"))
            order = await walk([deletion, slot, worker], choose)
            assert (deletion.error, worker.error) == (None, None), order
            assert slot.error is None or isinstance(slot.error, NotFound), order
            for held in worker.result:
                late = on.actor("late end", settled(held))
                await walk([late], lambda ready: ready[0])
                assert late.error is not None, order
            assert await scene.drained() == [], order
        assert await on.count("FROM sessions") == 0
        await nothing_is_orphaned(on)
