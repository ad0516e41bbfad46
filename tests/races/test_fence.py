"""Trap 5: a heartbeat is not a fence.

An owner that lost its lane finds out by its own clock or at its next renewal, which may be too late. The
fence in every write keeps it from releasing a lane that belongs to another worker by then.
"""

import pytest

from segue.errors import LeaseLost
from tests.races.by_hand import Wrong, stage, without
from tests.races.scenes import LEASE_MS, NOW, Scene, settled

FENCE = r"AND COALESCE\(holder, ''\) = [:$]\w+ AND fence = [:$]\w+"
UNFENCED: Wrong = {
    "sessions.hold": without(FENCE),
    "sessions.release": without(FENCE),
    "turns.finish": without(r"AND fence = [:$]\w+"),
}

LATER = NOW + LEASE_MS


async def test_a_late_finisher_ends_and_releases_nothing(database_url: str) -> None:
    async with stage(database_url) as on:
        scene = Scene(on)
        late = await scene.running("first", "late owner")
        await on.perform(scene.arrives("second"))
        await on.perform(scene.taken_back(late, LATER))
        owner = await scene.take_up("new owner", now=LATER)
        assert owner.fence > late.fence
        with pytest.raises(LeaseLost):
            await on.perform(settled(late))
        assert await on.perform(scene.leased("third", now=LATER)) == []
        await on.perform(settled(owner))
        assert [held.turn.content for held in await scene.drained(LATER)] == ["second"]
        assert not await on.broken()


async def test_trap_5_a_release_without_a_fence_lets_two_run_at_once(database_url: str) -> None:
    async with stage(database_url) as on:
        scene = Scene(on)
        late = await scene.running("first", "late owner")
        await on.perform(scene.arrives("second"))
        await on.perform(scene.taken_back(late, LATER))
        owner = await scene.take_up("new owner", now=LATER)
        await on.perform(settled(late), UNFENCED)
        # The new owner is at work on the first turn, has renewed in time, and yet:
        third = await scene.take_up("third", now=LATER)
        assert (owner.turn.content, third.turn.content) == ("first", "second")
        with pytest.raises(LeaseLost):
            await on.perform(settled(owner))
