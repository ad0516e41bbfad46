"""What waits is found at once, also while looks at the queues do not begin at the bottom."""

import asyncio

import pytest

from segue import Ask, Every, Policy, leasing
from segue.decision import POSTPONED_BY
from segue.lane import Pool
from segue.policy import Busy, Late
from segue.store import head
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import Gatekeeper, outcomes, working
from tests.seats import seat_of

CHAT = "web:1"


@pytest.fixture(autouse=True)
def every_look_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """And after the first one, none begins at the bottom."""
    at_once, never = 0.0, 1e9
    monkeypatch.setattr(head, "LONG_SECONDS", at_once)
    monkeypatch.setattr(head, "STALE_SECONDS", at_once)
    monkeypatch.setattr(head, "ONE_IN", never)
    monkeypatch.setattr(head, "LONGEST_SECONDS", never)


async def test_a_message_that_waited_behind_a_long_turn(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = Gatekeeper(CHAT)
    kernel = await open_kernel(agent=agent)
    async with working(kernel):
        await kernel.receive(CHAT, "Think hard.")
        await agent.standing_in(CHAT)
        waiting = await kernel.receive(CHAT, "Are you there?")
        for _ in range(4):  # until lanes that have been ready for so long are not looked for any more
            clock.advance(milliseconds=head.BEHIND_MS // 3)
            await kernel.wait(await kernel.receive("web:2", "Hello"))
        agent.let_go()
        async with asyncio.timeout(10):
            assert (await kernel.wait(waiting)).reply == "ok"
    await quiet(kernel)


async def test_a_turn_that_was_taken_back(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "Hello")
    lost = seat_of("elsewhere", lease_ms=head.BEHIND_MS, lease_now=clock.ms())
    assert await kernel.store.commit(leasing.lease, lost, pool=Pool.USER, after="", limit=1, now=clock.ms())
    assert await kernel.workers.user_runner.step() == 0
    clock.advance(milliseconds=2 * head.BEHIND_MS)
    assert await kernel.store.next_ready(Pool.USER) is None
    assert await kernel.workers.reaper.step() == 1
    assert await kernel.workers.user_runner.step() == 1
    await quiet(kernel)


async def test_slots_that_are_owed_after_one_was_put_off(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    owed = Policy(late=Late.ALL, busy=Busy.POSTPONE)
    job = await kernel.schedule(CHAT, Every(20), Ask("What is new?"), policy=owed)
    await kernel.receive(CHAT, "Hello")
    clock.advance(seconds=20)
    assert await kernel.workers.timer.step() == clock.ms(), "it looks again at once"
    assert await outcomes(kernel, job) == [], "the session is busy"
    assert await kernel.workers.user_runner.step() == 1
    clock.set(clock.now() + POSTPONED_BY)
    for _ in range(4):
        await kernel.workers.timer.step()
        await kernel.workers.runner.step()
    assert await outcomes(kernel, job) == ["ok"] * 4
    await quiet(kernel)
