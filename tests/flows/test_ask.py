"""`kernel.ask`: sends a message and yields the events and the live text of its turn."""

import asyncio
from contextlib import aclosing
from typing import assert_never

from segue import Ask, Event, Every, Kernel, LiveText, Owner, Request
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, until, working

PATIENCE = 10.0


async def answer(kernel: Kernel, text: str, *, when_busy: str | None = None) -> list[str]:
    """What a program would show of a turn: the types of events, and the text."""
    shown: list[str] = []
    async with asyncio.timeout(PATIENCE), aclosing(kernel.ask(CHAT, text, when_busy=when_busy)) as asked:
        async for item in asked:
            match item:
                case Event():
                    shown.append(item.type)
                case LiveText():
                    shown.append(item.text)
                case _:
                    assert_never(item)
    return shown


async def test_it_yields_one_turn_and_ends_with_its_session_sync(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script(["Good ", "morning"])
    async with working(kernel):
        shown = await answer(kernel, "Hello")
    assert (shown[0], shown[-2:]) == ("stream_start", ["stream_end", "session_sync"])
    assert "".join(shown[1:-2]) == "Good morning"


async def test_the_turns_before_it_are_not_its_answer(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("one", "two")
    await kernel.receive(CHAT, "First")
    async with working(kernel):
        assert "one" not in await answer(kernel, "Second")
    assert [message.content for message in await kernel.messages(CHAT)] == ["First", "one", "Second", "two"]


async def test_a_turn_that_is_cancelled_while_it_waits_yields_nothing(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "First")
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(answer(kernel, "Never mind"))
        queued = await until(kernel, "queue_update")
        await kernel.turns.cancel(queued.body["waiting"][-1]["turn_id"])
        assert await asked == []


async def test_a_message_that_joins_a_running_turn_gets_the_events_of_that_turn(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.pause()
    await kernel.receive(CHAT, "Count the sheep")
    async with working(kernel):
        await agent.under_way()
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(answer(kernel, "And the goats", when_busy="inject"))
            await until(kernel, "queue_update", after=1)
            agent.go_on()
            shown = await asked
    assert shown[-1] == "session_sync"


async def test_a_repeated_request_yields_the_turn_of_the_first_one_again(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    request = Request(owner=Owner(), name="once", digest="1")
    await kernel.receive(CHAT, "Hello", request=request)
    await quiet(kernel)
    async with asyncio.timeout(PATIENCE), aclosing(kernel.ask(CHAT, "Hello", request=request)) as asked:
        types = [item.type async for item in asked if isinstance(item, Event)]
    assert types == ["stream_start", "stream_end", "session_sync"]
    assert len(agent.asked) == 1


async def test_the_turn_goes_on_when_its_caller_stops_reading(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.pause()
    async with working(kernel):
        async with aclosing(kernel.ask(CHAT, "Hello")) as asked:
            await anext(asked)
        agent.go_on()
        await until(kernel, "session_sync")
    assert [message.content for message in await kernel.messages(CHAT)] == ["Hello", "ok"]


async def test_a_scheduled_turn_before_it_does_not_end_it(
    kernel: Kernel, agent: ScriptedAgent, clock: ManualClock
) -> None:
    agent.script("from the job", "from the user")
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(seconds=60)
    await kernel.workers.timer.step()
    clock.advance(minutes=5)  # by then the job's turn has waited long enough to go first
    async with working(kernel):
        shown = await answer(kernel, "Hello")
    assert shown.count("session_sync") == 1
    assert "from the job" not in shown
