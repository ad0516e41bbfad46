"""A worker is lost in the middle of a turn: it died, it slept too long, or it was shut down."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from segue import Ask, Call, Crash, Delta, Every, Kernel, OpenTurn, Policy, Say, Settings, Text, ToolStarted
from segue.kernel.transactions import lease
from segue.kernel.transactions.lane import Pool
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said, slots, under_way, working
from tests.leases import terms_of

LEASE = Settings().lease_seconds
ACT = ToolStarted(call_id="1", name="send_mail", arguments={"to": "ada"})


class Acting(ScriptedAgent):
    """Starts a tool before it goes on."""

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        yield ACT
        async for piece in super().answer(turn):
            yield piece


async def lose_the_worker(kernel: Kernel, agent: ScriptedAgent, clock: ManualClock) -> None:
    """Crash in the middle of the first ready turn; then its lease expires and the reaper runs."""
    agent.pause()
    worker = asyncio.create_task(_step(kernel))
    await agent.under_way()
    clock.advance(seconds=LEASE)
    assert await kernel.workers.reaper.step() == 1
    worker.cancel()
    await asyncio.wait([worker])
    agent.go_on()


async def _step(kernel: Kernel) -> None:
    if not await kernel.workers.user_runner.step():
        await kernel.workers.runner.step()


async def test_a_turn_that_had_not_acted_runs_again(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    await lose_the_worker(kernel, agent, clock)
    waiting = await kernel.turns.get(admitted.turn_id)
    assert (waiting.state, waiting.attempt, waiting.crashes) == ("queued", 1, 1)
    await quiet(kernel)
    done = await kernel.turns.get(admitted.turn_id)
    assert (done.state, done.attempt) == ("done", 2)
    assert await said(kernel) == [("user", "Hello"), ("assistant", "ok")]
    starts = [
        event.body["attempt"] for event in await kernel.log.events(CHAT) if event.type == "stream_start"
    ]
    assert starts == [1, 2]


async def test_a_turn_that_had_acted_ends_as_interrupted_where_people_see_it(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = Acting()
    kernel = await open_kernel(agent=agent)
    job = await kernel.schedule(CHAT, Every(3600), Ask("Write to Ada."), name="Ada")
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    await lose_the_worker(kernel, agent, clock)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.attempt) == ("interrupted", 1)
    assert run.error == "its worker was lost after it may have acted"
    assert "interrupted" in (await said(kernel))[-1][1]
    assert len(agent.asked) == 1
    assert (await kernel.jobs.get(job.id)).failures == 1


@pytest.mark.parametrize(
    ("crash", "acts", "expected"),
    [
        (Crash.AUTO, False, "ok"),
        (Crash.AUTO, True, "interrupted"),
        (Crash.CLOSE, False, "interrupted"),
        (Crash.CLOSE, True, "interrupted"),
        (Crash.RERUN, False, "ok"),
        (Crash.RERUN, True, "ok"),
    ],
)
@pytest.mark.parametrize("by", ["lease", "shutdown"])
async def test_the_policy_decides_what_becomes_of_a_turn_without_a_worker(
    open_kernel: OpenKernel, clock: ManualClock, crash: Crash, acts: bool, expected: str, by: str
) -> None:
    agent = Acting() if acts else ScriptedAgent()
    kernel = await open_kernel(agent=agent, settings=Settings(shutdown_grace_seconds=0))
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(crash=crash))
    clock.advance(hours=1)
    if by == "lease":
        await kernel.workers.timer.step()
        await lose_the_worker(kernel, agent, clock)
    else:
        agent.pause()
        async with working(kernel):
            await agent.under_way()
        agent.go_on()
    later = await open_kernel(agent=agent)
    await quiet(later)
    assert await outcomes(later, job) == [expected]
    assert len(agent.asked) == (2 if expected == "ok" else 1)


async def test_an_agent_that_does_not_report_its_tools_may_have_acted(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = ScriptedAgent(reports_tools=False)
    kernel = await open_kernel(agent=agent)
    admitted = await kernel.receive(CHAT, "Hello")
    await lose_the_worker(kernel, agent, clock)
    assert (await kernel.turns.get(admitted.turn_id)).outcome == "interrupted"


async def test_a_function_may_have_acted(open_kernel: OpenKernel, clock: ManualClock) -> None:
    begun, calls = asyncio.Event(), []

    async def dream(turn: OpenTurn) -> None:
        calls.append(turn.attempt)
        begun.set()
        await asyncio.Event().wait()

    kernel = await open_kernel(functions={"dream": dream}, settings=Settings(shutdown_grace_seconds=0))
    job = await kernel.schedule(CHAT, Every(3600), Call("dream"))
    clock.advance(hours=1)
    async with working(kernel):
        await begun.wait()
    assert await outcomes(kernel, job) == ["interrupted"]
    assert calls == [1]


async def test_a_turn_that_takes_its_worker_down_three_times_is_parked(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(crash=Crash.RERUN))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    for _ in range(3):
        await lose_the_worker(kernel, agent, clock)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.attempt) == ("interrupted", 3)
    assert run.error == "parked: its worker was lost 3 times in a row"
    assert len(agent.asked) == 3
    assert not (await kernel.sessions.get(CHAT)).busy


async def test_a_worker_that_wakes_too_late_writes_nothing(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    asleep = await open_kernel()
    awake = await open_kernel(agent=ScriptedAgent())
    admitted = await asleep.receive(CHAT, "Hello")
    agent.script("From the grave.")
    agent.pause()
    worker = asyncio.create_task(asleep.workers.user_runner.step())
    await agent.under_way()
    clock.advance(seconds=LEASE)
    await quiet(awake)
    assert (await awake.turns.get(admitted.turn_id)).state == "done"
    before = await awake.log.events(CHAT)
    agent.go_on()
    await worker
    assert await awake.log.events(CHAT) == before
    assert await said(awake) == [("user", "Hello"), ("assistant", "ok")]


async def test_a_renewal_that_misses_ends_the_late_workers_turn_at_once(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    asleep = await open_kernel()
    awake = await open_kernel(agent=ScriptedAgent())
    await asleep.receive(CHAT, "Hello")
    agent.pause()
    worker = asyncio.create_task(asleep.workers.user_runner.step())
    await agent.under_way()
    clock.advance(seconds=LEASE)
    await quiet(awake)
    await asleep.workers.keeper.step()
    await worker
    assert len(asleep.workers.turns) == 0


async def test_a_worker_that_renews_its_lease_keeps_its_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        for _ in range(10):
            clock.advance(seconds=LEASE / 3)
            await kernel.workers.keeper.step()
            assert await kernel.workers.reaper.step() == 0
    assert (await said(kernel))[-1] == ("assistant", "ok")


async def test_a_run_that_comes_back_takes_the_place_of_its_waiting_successor(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(10), Ask("Look."))
    clock.advance(seconds=10)
    await kernel.workers.timer.step()
    agent.pause()
    worker = asyncio.create_task(kernel.workers.runner.step())
    await agent.under_way()
    clock.advance(seconds=LEASE)
    await kernel.workers.timer.step()
    assert [run.state for run in await slots(kernel, job)] == ["running", "queued"]
    await kernel.workers.reaper.step()
    worker.cancel()
    await asyncio.wait([worker])
    agent.go_on()
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "skipped"]
    assert "came back after a crash" in ((await slots(kernel, job))[1].reason or "")


async def test_words_from_outside_stand_after_the_turn_that_crashed_and_came_back(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "How is the build?")
    agent.pause()
    worker = asyncio.create_task(kernel.workers.user_runner.step())
    await agent.under_way()
    await kernel.log.write(CHAT, "assistant", "Your flight leaves at noon.")
    clock.advance(seconds=LEASE)
    await kernel.workers.reaper.step()
    worker.cancel()
    await asyncio.wait([worker])
    agent.go_on()
    agent.script("Green.")
    await quiet(kernel)
    await kernel.receive(CHAT, "Thanks")
    await quiet(kernel)
    history = [message.content for message in agent.asked[-1].history]
    assert history == ["How is the build?", "Green.", "Your flight leaves at noon."]


async def test_a_requeued_turn_is_first_by_every_clock(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The reaper's clock is ahead of the one by which the lane is leased next."""
    first = await kernel.receive(CHAT, "Book the flight")
    await kernel.receive(CHAT, "And a hotel there")
    await lose_the_worker(kernel, agent, clock)
    terms = terms_of("elsewhere", lease_ms=1000, lease_now=clock.ms())
    a_second_ago = clock.ms() - 1000
    leased = await kernel.store.commit(
        lease.lease, terms, pool=Pool.USER, after="", limit=1, now=a_second_ago
    )
    (held,) = leased.value.held
    assert held.turn.id == first.turn_id


async def test_what_was_said_before_a_crash_is_not_an_answer(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    attempts = []

    async def half(turn: OpenTurn) -> AsyncIterator[Text]:
        attempts.append(turn.attempt)
        yield Text("Half a sen")
        if turn.attempt == 1:
            begun.set()
            await asyncio.Event().wait()
        yield Text("tence.")

    half.reports_tools = True  # type: ignore[attr-defined]
    begun = asyncio.Event()
    kernel = await open_kernel(agent=half, settings=Settings(shutdown_grace_seconds=0))
    await kernel.receive(CHAT, "Speak")
    async with working(kernel):
        await begun.wait()
    again = await open_kernel(agent=half)
    await quiet(again)
    assert await said(again) == [("user", "Speak"), ("assistant", "Half a sentence.")]
    assert attempts == [1, 2]


async def test_a_shutdown_lets_a_turn_end_within_the_grace(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    agent.pause()
    async with asyncio.TaskGroup() as group:
        run = group.create_task(kernel.run())
        await agent.under_way()
        run.cancel()
        await asyncio.sleep(0)
        agent.go_on()
    assert (await kernel.turns.get(admitted.turn_id)).state == "done"


async def test_a_queued_run_survives_a_restart(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.3."""
    before = await open_kernel()
    job = await before.schedule(CHAT, Every(3600), Ask("Look."))
    message = await before.schedule(CHAT, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await before.workers.timer.step()
    after = await open_kernel()
    await quiet(after)
    assert await outcomes(after, job) == ["ok"]
    assert await outcomes(after, message) == ["ok"]
