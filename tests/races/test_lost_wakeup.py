"""Trap 2: a turn is admitted while the one before it ends, and no worker learns that it waits.

The end of a turn computes whether turns are left in the lane. If it reads them before it locks the session's
row, a turn that is admitted in between is overlooked and stays queued without end. Load tests do not show it;
the right order of statements does, every time.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from segue.kernel.transactions import lease, session_log, settle
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.transactions.result import Result
from segue.model import closure
from segue.store import queries
from segue.store.database import Params, Transaction
from tests.races.by_hand import Branches, orders, stage, walk, without
from tests.races.scenes import NOW, Scene, fires, settled

LOST = """
FROM turns JOIN sessions ON sessions.id = turns.session_id
WHERE turns.state = 'queued' AND sessions.ready_at IS NULL AND sessions.holder IS NULL
"""


def handed_back(held: HeldLane) -> Transaction[Result[None]]:
    return settle.give_up(held, NOW)


def tried_again(held: HeldLane) -> Transaction[Result[None]]:
    return settle.retry(held, closure.failed("no answer"), NOW, at=NOW)


def stopped(held: HeldLane) -> Transaction[Result[None]]:
    return settle.settle(held, closure.stopped("", {}), NOW)


End = Callable[[HeldLane], Transaction[Result[None]]]


@pytest.mark.parametrize("end", [settled, stopped, tried_again, handed_back])
async def test_no_order_of_an_end_and_two_admissions_loses_a_wake_up(database_url: str, end: End) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=15, many=1000):
            scene = Scene(on)
            job = await scene.due_job()
            held = await scene.running("first")
            ending = on.actor("end", end(held))
            message = on.actor("message", scene.arrives("second"))
            slot = on.actor("slot", fires(job))
            order = await walk([ending, message, slot], choose)
            assert [actor.error for actor in (ending, message, slot)] == [None] * 3, order
            assert await on.count(LOST) == 0, order
            assert {"second", "look"} <= {turn.turn.content for turn in await scene.drained()}, order
        assert not await on.broken()


async def test_no_order_of_a_rescue_and_an_admission_loses_a_wake_up(database_url: str) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=15, many=1000):
            scene = Scene(on)
            held = await scene.running("first")
            rescue = on.actor("rescue", scene.taken_back(held))
            late_end = on.actor("late end", settled(held))
            message = on.actor("message", scene.arrives("second"))
            order = await walk([rescue, late_end, message], choose)
            assert not message.error, order
            assert await on.count(LOST) == 0, order
            ran = [turn.turn.content for turn in await _drained_later(scene)]
            assert "second" in ran, order
        assert not await on.broken()


async def _drained_later(scene: Scene) -> list[HeldLane]:
    """A turn that is requeued after a crash is ready at the moment of its rescue."""
    return await scene.drained(now=NOW + 60_000)


def finish_and_release(held: HeldLane, *, lock_first: bool) -> Transaction[None]:
    """The relevant statements of a turn's end, with or without locking the session's row first."""
    if lock_first:
        yield from lease.hold(held)
    ended: Params = dict.fromkeys(queries.turns.finish.parameters) | {
        "state": "done",
        "outcome": "ok",
        "now": NOW,
    }
    yield queries.turns.finish, {**ended, "id": held.turn.id, "fence": held.fence}
    mine: Params = {"id": held.session.id, "holder": held.holder, "fence": held.fence}
    yield queries.sessions.release, {**mine, **session_log.NOTHING}


async def lost_wake_ups(url: str, *, lock_first: bool) -> int:
    lost = 0
    async with stage(url) as on:
        for choose in Branches():
            scene = Scene(on)
            held = await scene.running("first")
            ending = on.actor("end", finish_and_release(held, lock_first=lock_first))
            message = on.actor("message", scene.arrives("second"))
            order = await walk([ending, message], choose)
            assert [ending.error, message.error] == [None] * 2, order
            lost += not await scene.drained()
    return lost


async def test_trap_2_a_lock_that_is_taken_late_loses_the_wake_up(migrated_postgres_url: str) -> None:
    assert await lost_wake_ups(migrated_postgres_url, lock_first=False) > 0
    assert await lost_wake_ups(migrated_postgres_url, lock_first=True) == 0


async def test_on_sqlite_the_second_writer_waits_even_where_the_lock_is_missing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/segue.db"
    assert await lost_wake_ups(url, lock_first=False) == 0


async def test_without_its_lock_a_real_end_is_refused_and_never_silent(migrated_postgres_url: str) -> None:
    """The numbers of the log are a second guard: two writers that took the same one cannot both commit."""
    refused = 0
    async with stage(migrated_postgres_url) as on:
        for choose in orders(few=30, many=300):
            scene = Scene(on)
            held = await scene.running("first")
            unlocked = {"sessions.hold": without("FOR NO KEY UPDATE")}
            ending = on.actor("end", settled(held), unlocked)
            message = on.actor("message", scene.arrives("second"))
            order = await walk([ending, message], choose)
            refused += bool(ending.error or message.error)
            assert await on.count(LOST) == 0, order
            if ending.error:
                await on.perform(settled(held))
            await scene.drained()
        assert not await on.broken()
    assert refused > 0
