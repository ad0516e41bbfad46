"""Turns of a conversation: receive, wait, stop, cancel, write."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any

import pytest

from segue import Ask, Every, Kernel, OpenTurn, Owner, Settings, WhenBusy
from segue.errors import AlreadyStarted, BadSetting, Invalid, NotFound, SessionBusy
from segue.kernel.transactions import lane
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, log, outcomes, said, under_way, working


class Halting:
    """Says half and waits; joins the messages that came, when it is released."""

    reports_tools = True

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.joined: list[str] = []

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        yield "Half a "
        self.begun.set()
        await self.go_on.wait()
        self.joined += [message.content for message in await turn.joined()]
        yield f"sentence about {turn.text}"


async def test_stopping_a_turn_leaves_what_was_said_so_far(open_kernel: OpenKernel) -> None:
    agent = Halting()
    kernel = await open_kernel(agent=agent)
    admitted = await kernel.receive(CHAT, "Rome")
    async with working(kernel):
        await agent.begun.wait()
        assert await kernel.turns.stop(CHAT) == admitted.turn_id
        stopped = await kernel.wait(admitted.turn_id)
    assert (stopped.state, stopped.outcome, stopped.reply) == ("cancelled", "stopped", "Half a")
    assert (await said(kernel))[-1] == ("assistant", "Half a\n\n(stopped)")
    assert not (await kernel.sessions.get(CHAT)).busy


async def test_stopping_a_session_that_rests_does_nothing(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "Hello")
    assert await kernel.turns.stop(CHAT) is None


async def test_any_process_can_stop_a_turn(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    works, watches = await open_kernel(), await open_kernel()
    await works.receive(CHAT, "Hello")
    async with under_way(works, agent):
        await watches.turns.stop(CHAT)
        await works.workers.keeper.step()
    assert (await said(watches))[-1] == ("assistant", "(stopped)")


async def test_a_stopped_run_of_a_job_leaves_the_job_its_next_slot(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        await kernel.turns.stop(CHAT)
        await kernel.workers.keeper.step()
    assert await outcomes(kernel, job) == ["stopped"]
    assert (await kernel.jobs.get(job.id)).next_at == clock.ms() + 60_000


async def test_a_turn_that_waits_can_be_cancelled(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        second = await kernel.receive(CHAT, "Second")
        await kernel.turns.cancel(second.turn_id)
    assert (await kernel.turns.get(second.turn_id)).state == "cancelled"
    assert [asked.text for asked in agent.asked] == ["First"]
    assert await said(kernel) == [("user", "First"), ("assistant", "ok")]


async def test_cancelling_a_turn_that_has_started_is_too_late(kernel: Kernel, agent: ScriptedAgent) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        with pytest.raises(AlreadyStarted):
            await kernel.turns.cancel(admitted.turn_id)
    with pytest.raises(AlreadyStarted):
        await kernel.turns.cancel(admitted.turn_id)
    assert (await said(kernel))[-1] == ("assistant", "ok")


async def test_cancelling_what_is_not_there_says_so(kernel: Kernel) -> None:
    with pytest.raises(NotFound):
        await kernel.turns.cancel("nothing")


async def test_cancelling_the_only_turn_leaves_the_session_at_rest(kernel: Kernel) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    await kernel.turns.cancel(admitted.turn_id)
    session = await kernel.sessions.get(CHAT)
    assert (session.busy, session.ready_at) == (False, None)


async def test_a_message_is_enqueued_by_default(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        assert (await kernel.receive(CHAT, "Second")).position == 1
        assert (await kernel.receive(CHAT, "Third")).position == 2
        updates = [
            event.body["queued"] for event in await kernel.log.events(CHAT) if event.type == "queue_update"
        ]
        assert updates == [1, 2]
    assert [asked.text for asked in agent.asked] == ["First", "Second", "Third"]


async def test_a_message_can_refuse_to_wait(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "First", when_busy="reject")
    async with under_way(kernel, agent):
        before = await count_rows(kernel)
        with pytest.raises(SessionBusy):
            await kernel.receive(CHAT, "Second", when_busy="reject")
        assert await count_rows(kernel) == before


async def test_a_message_can_interrupt(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Wait, no.", when_busy=WhenBusy.INTERRUPT)
        await kernel.workers.keeper.step()
        agent.go_on()
    assert await said(kernel) == [
        ("user", "First"),
        ("assistant", "(stopped)"),
        ("user", "Wait, no."),
        ("assistant", "ok"),
    ]


async def test_a_message_that_interrupts_is_next(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Second")
        await kernel.receive(CHAT, "Wait, no.", when_busy=WhenBusy.INTERRUPT)
        await kernel.workers.keeper.step()
        agent.go_on()
    assert [asked.text for asked in agent.asked] == ["First", "Wait, no.", "Second"]


async def test_an_injected_message_joins_the_users_turn_and_its_waiter_gets_that_reply(
    open_kernel: OpenKernel,
) -> None:
    agent = Halting()
    kernel = await open_kernel(agent=agent)
    host = await kernel.receive(CHAT, "Rome")
    async with working(kernel), asyncio.TaskGroup() as group:
        await agent.begun.wait()
        guest = await kernel.receive(CHAT, "and Pisa", when_busy="inject")
        waiter = group.create_task(kernel.wait(guest.turn_id))
        agent.go_on.set()
        reply = (await waiter).reply
    assert reply == "Half a sentence about Rome"
    assert agent.joined == ["and Pisa"]
    assert (await kernel.turns.get(guest.turn_id)).joined_into == host.turn_id
    assert await said(kernel) == [
        ("user", "Rome"),
        ("user", "and Pisa"),
        ("assistant", "Half a sentence about Rome"),
    ]


async def test_an_injected_message_that_the_agent_does_not_join_is_the_next_turn(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Second", when_busy="inject")
    assert [asked.text for asked in agent.asked] == ["First", "Second"]


async def test_nothing_is_injected_into_a_scheduled_turn(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """4.4."""
    agent = Halting()
    kernel = await open_kernel(agent=agent)
    job = await kernel.schedule(CHAT, Every(60), Ask("the build"))
    async with working(kernel):
        clock.advance(minutes=1)
        await agent.begun.wait()
        guest = await kernel.receive(CHAT, "Rome", when_busy="inject")
        agent.go_on.set()
        turn = await kernel.wait(guest.turn_id)
    assert agent.joined == []
    assert (turn.joined_into, turn.reply) == (None, "Half a sentence about Rome")
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_scheduled_turn_is_injected_into_nothing(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = Halting()
    kernel = await open_kernel(agent=agent, settings=Settings(when_busy=WhenBusy.INJECT))
    job = await kernel.schedule(CHAT, Every(60), Ask("the build"))
    await kernel.receive(CHAT, "Rome")
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.user_runner.step())
        await agent.begun.wait()
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        agent.go_on.set()
    assert agent.joined == []
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_what_joined_a_turn_is_not_lost_when_its_worker_is(open_kernel: OpenKernel) -> None:
    begun, go_on, joined = asyncio.Event(), asyncio.Event(), asyncio.Event()
    histories: list[list[str]] = []

    async def joins_once(turn: OpenTurn) -> str:
        histories.append([message.content for message in await turn.history()])
        if turn.attempt == 1:
            begun.set()
            await go_on.wait()
            assert [message.content for message in await turn.joined()] == ["and Pisa"]
            joined.set()
            await asyncio.Event().wait()
        return "Both."

    joins_once.reports_tools = True  # type: ignore[attr-defined]
    kernel = await open_kernel(agent=joins_once, settings=Settings(shutdown_grace_seconds=0))
    await kernel.receive(CHAT, "Rome")
    async with working(kernel):
        await begun.wait()
        await kernel.receive(CHAT, "and Pisa", when_busy="inject")
        go_on.set()
        await joined.wait()
    again = await open_kernel(agent=joins_once)
    await quiet(again)
    assert histories == [[], ["and Pisa"]]
    assert [words for _, words in await said(again)] == ["Rome", "and Pisa", "Both."]


async def test_a_rule_for_busy_sessions_that_does_not_exist_is_refused(kernel: Kernel) -> None:
    before = await count_rows(kernel)
    with pytest.raises(Invalid, match="when_busy is one of"):
        await kernel.receive(CHAT, "Hello", when_busy="shout")
    assert await count_rows(kernel) == before


async def test_a_message_can_be_written_without_a_turn(kernel: Kernel, agent: ScriptedAgent) -> None:
    written = await kernel.log.write(CHAT, "system", "The user is in Rome.")
    await quiet(kernel)
    assert (written.role, written.content, written.seq) == ("system", "The user is in Rome.", 1)
    assert agent.asked == []
    await kernel.receive(CHAT, "Where am I?")
    await quiet(kernel)
    assert [message.content for message in agent.asked[0].history] == ["The user is in Rome."]


async def test_an_unknown_role_is_refused(kernel: Kernel) -> None:
    with pytest.raises(BadSetting):
        await kernel.log.write(CHAT, "narrator", "Meanwhile")


async def test_waiting_for_a_turn_that_has_ended_returns_at_once(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script("Fine.")
    admitted = await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert (await kernel.wait(admitted.turn_id)).reply == "Fine."


async def test_a_waiter_hears_of_a_cancellation(kernel: Kernel) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    async with asyncio.TaskGroup() as group:
        waiter = group.create_task(kernel.wait(admitted.turn_id))
        await asyncio.sleep(0)
        await kernel.turns.cancel(admitted.turn_id)
    assert waiter.result().state == "cancelled"


async def test_a_waiter_hears_that_its_session_is_gone(kernel: Kernel) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        waiter = group.create_task(_refused(kernel.wait(admitted.turn_id)))
        await asyncio.sleep(0)
        await kernel.sessions.delete(CHAT)
        assert isinstance(await waiter, NotFound)


async def _refused(work: Coroutine[Any, Any, object]) -> Exception | None:
    try:
        await work
    except NotFound as refusal:
        return refusal
    return None


async def test_a_message_during_a_scheduled_turn_is_the_next_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.4: both answers stand there, each with its own source."""
    agent.script("The build is green.", "Hello yourself.")
    await kernel.schedule(CHAT, Every(60), Ask("Look."), name="Look")
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Hello")
    assert await said(kernel) == [
        ("user", "Scheduled cron job triggered: Look\n\nLook."),
        ("assistant", "The build is green."),
        ("user", "Hello"),
        ("assistant", "Hello yourself."),
    ]
    sources = [message.source and message.source.label for message in await kernel.messages(CHAT)]
    assert sources == ["Look", "Look", None, None]
    assert (await log(kernel))[-1] == "session_sync"


async def test_an_ended_turn_can_be_followed_from_its_start(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("Good morning")
    first = await kernel.receive(CHAT, "Hello")
    await kernel.receive(CHAT, "Again")
    await quiet(kernel)
    async with asyncio.timeout(10), aclosing(kernel.turns.follow(first.turn_id)) as following:
        items = [item async for item in following]
    assert [item.type for item in items] == ["stream_start", "stream_delta", "stream_end", "session_sync"]
    assert {item.turn_id for item in items} == {first.turn_id}


async def test_stopping_one_turn_cancels_it_while_it_waits_and_leaves_the_running_one(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.pause()
    running = await kernel.receive(CHAT, "Count")
    async with working(kernel):
        await agent.under_way()
        waiting = await kernel.receive(CHAT, "Never mind")
        assert await kernel.turns.stop_turn(waiting.turn_id)
        now_running = await kernel.turns.running(CHAT)
        assert now_running is not None
        assert now_running.id == running.turn_id
        assert await kernel.turns.stop_turn(running.turn_id)
        ended = await kernel.wait(running.turn_id)
        assert ended.outcome == "stopped"
        assert not await kernel.turns.stop_turn(running.turn_id)
        assert await kernel.turns.running(CHAT) is None
    assert [turn.id for turn in await kernel.turns.list(CHAT)] == [waiting.turn_id, running.turn_id]
    assert [turn.id for turn in await kernel.turns.list(CHAT, before=waiting.turn_id)] == [running.turn_id]


async def test_another_users_turn_is_neither_followed_nor_stopped(kernel: Kernel) -> None:
    turn = await kernel.receive(CHAT, "Hello", owner=Owner("default", "ada"))
    ben = Owner("default", "ben")
    with pytest.raises(NotFound):
        await kernel.turns.stop_turn(turn.turn_id, owner=ben)
    with pytest.raises(NotFound):
        await anext(kernel.turns.follow(turn.turn_id, owner=ben))


async def test_stopping_a_queued_turn_says_since_when_the_next_one_waits(
    kernel: Kernel, clock: ManualClock
) -> None:
    """On PostgreSQL a scan of ready lanes may start later than that, and must not pass it over."""
    first = await kernel.receive(CHAT, "One")
    waiting_since = clock.ms()
    await kernel.receive(CHAT, "Two")
    clock.advance(minutes=1)
    stopped = await kernel.store.commit(lane.stop_turn, first.turn_id, "by the user", clock.ms())
    assert (stopped.value, stopped.ready_at) == (True, waiting_since)
