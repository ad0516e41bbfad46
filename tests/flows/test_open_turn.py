"""The agent's side of a turn: tell, tools, history with tool calls, what came from elsewhere, saved state."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from segue import (
    Ask,
    At,
    Delta,
    Kernel,
    OpenTurn,
    Say,
    Settings,
    Text,
    ToolCalled,
    ToolStarted,
    Usage,
    Waiting,
    current_turn,
)
from segue.errors import NotInTurn, TurnEnded
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT, log, said


class Told:
    """An agent whose answer is told, not yielded; the body is given by the test."""

    reports_tools = True

    def __init__(self, body: Any) -> None:
        self._body = body
        self.turns: list[OpenTurn] = []

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self.turns.append(turn)
        answer = await self._body(turn)
        if answer is not None:
            yield answer


async def run(open_kernel: OpenKernel, body: Any, **options: Any) -> tuple[Kernel, Told]:
    agent = Told(body)
    kernel = await open_kernel(agent=agent, **options)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    return kernel, agent


async def test_what_is_told_is_the_answer(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> None:
        await turn.tell("Good ")
        await turn.tell(Text("day."))
        await turn.tell(Usage({"output_tokens": 2}))

    kernel, agent = await run(open_kernel, body)
    turn = await kernel.turns.get(agent.turns[0].id)
    assert (turn.outcome, turn.reply, turn.usage) == ("ok", "Good day.", {"output_tokens": 2})


async def test_a_tool_is_stored_when_tell_returns(open_kernel: OpenKernel) -> None:
    seen: list[list[str]] = []

    async def body(turn: OpenTurn) -> None:
        await turn.tell(ToolStarted(call_id="1", name="pay"))
        seen.append([event.type for event in await turn.kernel.log.events(CHAT)])
        assert (await turn.kernel.turns.get(turn.id)).acted
        await turn.tell(ToolCalled(call_id="1", name="pay", result="paid"))

    await run(open_kernel, body)
    assert seen == [["stream_start", "tool_started"]]


async def test_several_tasks_may_tell_at_once(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> str:
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(turn.tell(ToolStarted(call_id=str(number), name="look")))
        return "Done."

    kernel, _ = await run(open_kernel, body)
    assert (await log(kernel)).count("tool_started") == 10
    assert await said(kernel) == [("user", "Hello"), ("assistant", "Done.")]


async def test_after_its_end_a_turn_cannot_be_told(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> str:
        return "Bye."

    kernel, agent = await run(open_kernel, body)
    with pytest.raises(TurnEnded, match="has ended; tell it before its agent returns"):
        await agent.turns[0].tell("And another thing.")
    assert await said(kernel) == [("user", "Hello"), ("assistant", "Bye.")]


async def test_a_question_ends_the_telling(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> str:
        await turn.tell(Waiting("Pay?"))
        with pytest.raises(TurnEnded):
            await turn.tell("And another thing.")
        return "Not said."

    kernel, agent = await run(open_kernel, body)
    turn = await kernel.turns.get(agent.turns[0].id)
    assert (turn.outcome, turn.reply) == ("asked", "Pay?")


async def test_the_scheduling_tools_work_in_the_turns_session(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    answers: list[str] = []

    async def body(turn: OpenTurn) -> None:
        if turn.source is None:
            box = await turn.tools()
            arguments = {"action": "add", "message": "Look again", "every_seconds": 3600}
            answers.append(await box.call("cron", arguments, call_id="c-1"))
            answers.append(await box.call("cron", "{", call_id="c-2"))
            answers.append(await box.call("corn", {}, call_id="c-3"))

    kernel, _ = await run(open_kernel, body)
    [job] = await kernel.jobs.list(CHAT)
    assert job.action == Ask("Look again")
    assert answers[1].startswith("Error: ")
    assert answers[2] == "Error: there is no tool corn; did you mean cron?"
    assert (await log(kernel)).count("tool_started") == 3
    assert (await log(kernel)).count("tool_call") == 3


async def test_history_has_the_tool_calls_before_each_answer(kernel: Kernel, agent: ScriptedAgent) -> None:
    started = ToolStarted(call_id="1", name="weather", arguments={"city": "Ulm"})
    called = ToolCalled(call_id="1", name="weather", arguments={"city": "Ulm"}, result="Rain", duration_ms=5)
    lost = ToolStarted(call_id="2", name="wind")
    agent.script([started, called, lost, "It rains."], "Yes.")
    await kernel.receive(CHAT, "Weather?")
    await quiet(kernel)
    await kernel.receive(CHAT, "Still?")
    await quiet(kernel)
    turn = agent.asked[-1].turn
    assert all(message.calls == () for message in await turn.history())
    question, answer = await turn.history(tools=True)
    assert (question.content, question.calls) == ("Weather?", ())
    assert (answer.content, answer.calls[0]) == ("It rains.", called)
    assert "not known whether this call ended" in (answer.calls[1].error or "")


async def test_outside_has_what_was_stored_outside_of_turns(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    first = agent.asked[-1].turn
    await kernel.schedule(CHAT, At(clock.now()), Say("Your flight leaves at noon."))
    await kernel.log.write(CHAT, "user", "Noted elsewhere.")
    await quiet(kernel)
    await kernel.receive(CHAT, "When?")
    await quiet(kernel)
    turn = agent.asked[-1].turn
    found = sorted(message.content for message in await turn.outside(first.seq))
    assert found == ["Noted elsewhere.", "Your flight leaves at noon."]
    assert await turn.outside(turn.seq) == []


async def test_saved_is_there_in_the_next_turn_and_in_no_other_session(open_kernel: OpenKernel) -> None:
    seen: list[tuple[str, Any]] = []

    async def body(turn: OpenTurn) -> str:
        seen.append((turn.session.key, dict(turn.saved)))
        turn.saved["thread"] = {"id": "t-1", "steps": [1, None, "ö\x00"]}
        return "ok"

    kernel, _ = await run(open_kernel, body)
    for key in (CHAT, "web:2"):
        await kernel.receive(key, "Again")
        await quiet(kernel)
    assert seen == [(CHAT, {}), (CHAT, {"thread": {"id": "t-1", "steps": [1, None, "ö\x00"]}}), ("web:2", {})]


async def test_a_failed_turn_saves_nothing(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> str:
        turn.saved["n"] = turn.saved.get("n", 0) + 1
        if turn.text == "fail":
            raise ValueError("no")
        return str(turn.saved["n"])

    kernel, _ = await run(open_kernel, body)
    for text in ("fail", "Again"):
        await kernel.receive(CHAT, text)
        await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "2")


@pytest.mark.parametrize(
    "value", [object(), float("nan"), "\ud800", "x" * 1_000_001], ids=["object", "nan", "surrogate", "long"]
)
async def test_saved_that_is_not_json_fails_the_turn(open_kernel: OpenKernel, value: object) -> None:
    async def body(turn: OpenTurn) -> str:
        turn.saved["value"] = value
        return "ok"

    kernel, agent = await run(open_kernel, body)
    turn = await kernel.turns.get(agent.turns[0].id)
    assert turn.outcome == "error"
    assert (turn.error or "").startswith("turn.saved ")


async def test_a_stop_sets_stopping_and_saves(open_kernel: OpenKernel) -> None:
    begun = asyncio.Event()
    ended: list[bool] = []

    async def body(turn: OpenTurn) -> str:
        if turn.text == "Again":
            return str(turn.saved)
        turn.saved["half"] = True
        begun.set()
        # A thread sees the stop although no task of the loop reaches it.
        ended.append(await asyncio.to_thread(turn.stopping.wait, 10))
        return "never"

    agent = Told(body)
    kernel = await open_kernel(agent=agent, settings=Settings(lease_seconds=2))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive(CHAT, "Work")
        await begun.wait()
        await kernel.turns.stop(CHAT)
        turn = await kernel.wait(asked)
        assert turn.outcome == "stopped"
        assert agent.turns[0].stopping.is_set()
        assert (await kernel.wait(await kernel.receive(CHAT, "Again"))).reply == "{'half': True}"
        running.cancel()


async def test_the_current_turn_is_known_in_tasks_and_threads_of_the_agent(open_kernel: OpenKernel) -> None:
    async def body(turn: OpenTurn) -> str:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_current())
        assert task.result() is turn
        assert await asyncio.to_thread(current_turn) is turn
        return "ok"

    kernel, _ = await run(open_kernel, body)
    assert await said(kernel) == [("user", "Hello"), ("assistant", "ok")]
    with pytest.raises(NotInTurn):
        current_turn()


async def _current() -> OpenTurn:
    return current_turn()


async def test_a_plain_function_may_tell_too(open_kernel: OpenKernel) -> None:
    async def agent(turn: OpenTurn) -> None:
        await turn.tell("Hi.")

    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "Hi.")


async def test_a_history_of_no_messages_is_empty(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("Yes.", "No.")
    for text in ("One?", "Two?"):
        await kernel.receive(CHAT, text)
        await quiet(kernel)
    assert await agent.asked[-1].turn.history(0) == []


async def test_without_memories_nothing_is_searched(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    agent = ScriptedAgent()
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        await kernel.receive(CHAT, "What did I say about sailing yesterday?")
        await quiet(kernel)
        recording_store.reads.clear()
        await agent.asked[-1].turn.history()
    searched = [name for name in recording_store.reads if name.startswith("memories.")]
    assert searched == ["memories.count"]


async def test_the_newest_events_are_read_from_a_number_on(kernel: Kernel) -> None:
    for number in range(5):
        await kernel.log.write(CHAT, "user", f"{number}")
    session = await kernel.sessions.get(CHAT)
    found = await kernel.store.newest_events(session.id, after=2, before=5, limit=10)
    assert [event.seq for event in found] == [3, 4]
