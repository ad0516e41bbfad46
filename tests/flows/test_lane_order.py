"""Order in and between lanes: which turn runs first, and which never waits for another."""

import asyncio
from contextlib import aclosing

import pytest

from segue import Ask, Event, Every, Kernel, Owner, Settings
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.lease import QUANTUM
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, BlockingAgent, outcomes, under_way, until, working

PATIENCE = Settings().patience_seconds


async def test_a_sessions_turns_run_one_by_one_in_their_order(kernel: Kernel, agent: ScriptedAgent) -> None:
    texts = [f"Message {n}" for n in range(10)]
    for place, text in enumerate(texts):
        assert (await kernel.receive(CHAT, text)).position == place
    assert await kernel.workers.user_runner.step() == 1
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == texts
    assert [len(asked.history) for asked in agent.asked] == list(range(0, 20, 2))


async def _passage(kernel: Kernel, agent: ScriptedAgent, key: str) -> tuple[str | None, list[str]]:
    """Who holds the session while its turn runs, and what its listeners hear of the turn."""
    heard: list[str] = []
    begun = asyncio.Event()
    before = (await kernel.sessions.get(key)).last_seq

    async def listen() -> None:
        async with aclosing(kernel.follow(key, after=before)) as following:
            async for one in following:
                assert isinstance(one, Event | LiveText)
                heard.append(one.type)
                begun.set()
                if one.type == "session_sync":
                    return

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(listen())
        async with under_way(kernel, agent):
            await begun.wait()
            holder = (await kernel.sessions.get(key)).holder
    return holder, heard


async def test_a_scheduled_turn_takes_the_way_of_a_users_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """3.1: the same lock, status, live text and events, and the same place in the next one's history."""
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look")
    clock.advance(hours=1)
    scheduled = await _passage(kernel, agent, CHAT)
    await kernel.receive(CHAT, "And?")
    users = await _passage(kernel, agent, CHAT)
    turn = ["stream_start", "stream_delta", "stream_end", "session_sync"]
    assert users == ("worker-1", turn)
    assert scheduled == ("worker-1", [*turn[:-1], "automation_update", turn[-1]])
    history = [(message.role, message.content) for message in agent.asked[-1].history]
    assert history == [("user", "Scheduled cron job triggered: Look\n\nLook."), ("assistant", "ok")]


async def test_a_user_goes_before_a_run_that_waits(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.5: within its patience, a deferred run does not stand in front of a user."""
    await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    clock.advance(seconds=PATIENCE - 1)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Hello", "Look."]


async def test_a_run_that_waited_out_its_patience_goes_before_a_user(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.5: the patience is bounded."""
    await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    clock.advance(seconds=PATIENCE + 1)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Look.", "Hello"]


async def test_a_chatty_user_cannot_starve_a_run(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.5."""
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await kernel.receive(CHAT, "Hello")
    await kernel.workers.timer.step()
    for _ in range(round(PATIENCE / 60) + 2):
        clock.advance(minutes=1)
        await kernel.receive(CHAT, "And another thing")
        assert await kernel.workers.user_runner.step() == 1
    assert await outcomes(kernel, job) == ["ok"]
    await quiet(kernel)


async def test_a_full_pool_of_runs_does_not_delay_a_user(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent("web:a")
    kernel = await open_kernel(agent=agent, settings=Settings(runners=1, user_runners=1))
    # One second apart: of two that are due at the same moment, either may have the only place.
    await kernel.schedule("web:a", Every(3600), Ask("Think hard."))
    waiting = await kernel.schedule("web:b", Every(3601), Ask("Look."))
    async with working(kernel):
        clock.advance(hours=1)
        await agent.is_waiting_in("web:a")
        clock.advance(seconds=1)
        await kernel.receive(CHAT, "Hello")
        await until(kernel, "stream_end")
        assert await outcomes(kernel, waiting) in ([], [None])
        agent.release()
        await until(kernel, "stream_end", "web:b")


async def test_a_full_pool_of_users_does_not_delay_a_run(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent("web:a")
    kernel = await open_kernel(agent=agent, settings=Settings(runners=1, user_runners=1))
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    async with working(kernel):
        await kernel.receive("web:a", "Think hard.")
        await agent.is_waiting_in("web:a")
        clock.advance(hours=1)
        await until(kernel, "stream_end")
        assert await outcomes(kernel, job) == ["ok"]
        agent.release()


async def test_a_run_that_a_user_waits_behind_is_taken_by_the_users_pool(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(runners=0))
    await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await quiet(kernel)
    assert agent.asked == []
    clock.advance(seconds=PATIENCE + 1)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Look.", "Hello"]


@pytest.mark.new_connections
async def test_one_accounts_flood_of_messages_is_not_anothers_wait(open_kernel: OpenKernel) -> None:
    agent = BlockingAgent()
    kernel = await open_kernel(agent=agent, settings=Settings(user_runners=4))
    for n in range(40):
        await kernel.receive(f"web:{n}", "Hello", owner=Owner("flood"))
    await kernel.receive("web:lone", "Hello", owner=Owner("quiet"))
    await quiet(kernel)
    assert agent.answered.index("web:lone") <= QUANTUM


async def test_a_pool_of_one_serves_accounts_in_turn(open_kernel: OpenKernel) -> None:
    agent = BlockingAgent()
    kernel = await open_kernel(agent=agent, settings=Settings(user_runners=1))
    for account in ("a", "b", "c"):
        for n in range(3):
            await kernel.receive(f"web:{account}{n}", "Hello", owner=Owner(account))
    await quiet(kernel)
    assert [key[4] for key in agent.answered] == ["a", "b", "c"] * 3


@pytest.mark.new_connections
async def test_one_accounts_flood_of_jobs_is_not_anothers_wait(kernel: Kernel, clock: ManualClock) -> None:
    for first in range(0, 1000, 100):  # the thousandth caller at once could time out on a busy machine
        async with asyncio.TaskGroup() as flood:
            for n in range(first, first + 100):
                look = kernel.schedule(f"web:{n}", Every(3600), Ask("Look."), owner=Owner("flood"))
                flood.create_task(look)
    clock.advance(seconds=1)
    lone = await kernel.schedule(CHAT, Every(3600), Ask("Look."), owner=Owner("quiet"))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    assert await outcomes(kernel, lone) == [None]


async def test_a_future_job_never_blocks_a_due_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(86_400), Ask("Tomorrow."))
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Hello"]


@pytest.mark.parametrize("workers", [2, 4])
async def test_many_workers_take_each_slot_once(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, workers: int
) -> None:
    kernels = [await open_kernel() for _ in range(workers)]
    jobs = [await kernels[0].schedule(f"web:{n}", Every(3600), Ask(f"Job {n}")) for n in range(12)]
    clock.advance(hours=1)
    for kernel in kernels:
        await kernel.workers.timer.step()
    for kernel in kernels:
        await quiet(kernel)
    assert sorted(asked.text for asked in agent.asked) == sorted(f"Job {n}" for n in range(12))
    for job in jobs:
        assert await outcomes(kernels[0], job) == ["ok"]


async def test_a_second_process_does_not_run_again_what_runs(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    first = await open_kernel()
    await first.receive(CHAT, "Hello")
    async with under_way(first, agent):
        second = await open_kernel()
        await quiet(second)
    assert len(agent.asked) == 1
