"""When a message joins the transcript, and what the model sees of it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from segue import Ask, At, Call, Every, JobKind, Kernel, OpenTurn, Say, ToolCalled, ToolStarted
from segue.errors import BadSetting
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, outcomes, said, slots, under_way


async def test_a_jobs_answer_is_in_the_chat_and_the_chat_is_in_its_next_run(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script("Build 418 is red.", "Who broke it?", "Still red.")
    await kernel.schedule(CHAT, Every(3600), Ask("Read the build log."), name="Build")
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.receive(CHAT, "I will look at it.")
    await quiet(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    assert [(m.role, m.content) for m in agent.asked[-1].history] == [
        ("user", "Scheduled cron job triggered: Build\n\nRead the build log."),
        ("assistant", "Build 418 is red."),
        ("user", "I will look at it."),
        ("assistant", "Who broke it?"),
    ]


async def test_words_join_when_their_turn_starts_and_not_when_they_arrive(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "First")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Second")
        assert await said(kernel) == [("user", "First")]
        assert [
            turn.content for turn in await kernel.store.queued_turns((await kernel.sessions.get(CHAT)).id)
        ] == ["Second"]
    assert await said(kernel) == [
        ("user", "First"),
        ("assistant", "ok"),
        ("user", "Second"),
        ("assistant", "ok"),
    ]


async def test_a_running_model_call_sees_nothing_that_came_later(open_kernel: OpenKernel) -> None:
    begun, late = asyncio.Event(), asyncio.Event()
    seen: list[list[str]] = []

    async def looks_again(turn: OpenTurn) -> str:
        seen.append([message.content for message in await turn.history()])
        begun.set()
        await late.wait()
        seen.append([message.content for message in await turn.history()])
        return "Done."

    kernel = await open_kernel(agent=looks_again)
    await kernel.log.write(CHAT, "user", "Before")
    await kernel.receive(CHAT, "Now")
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.user_runner.step())
        await begun.wait()
        await kernel.log.write(CHAT, "user", "Later")
        await kernel.receive(CHAT, "Later still")
        late.set()
    assert seen == [["Before"], ["Before"]]


async def test_history_is_not_crowded_out_by_what_came_later(open_kernel: OpenKernel) -> None:
    begun, late = asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    async def reads_late(turn: OpenTurn) -> str:
        begun.set()
        await late.wait()
        seen.extend(message.content for message in await turn.history(3))
        return "Done."

    kernel = await open_kernel(agent=reads_late)
    for n in range(5):
        await kernel.log.write(CHAT, "user", f"Before {n}")
    await kernel.receive(CHAT, "Now")
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.user_runner.step())
        await begun.wait()
        for n in range(10):
            await kernel.log.write(CHAT, "user", f"Later {n}")
        late.set()
    assert seen == ["Before 2", "Before 3", "Before 4"]


async def test_a_written_message_is_sent_at_once_and_stands_after_the_turn_it_interrupted(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    called, sent = asyncio.Event(), asyncio.Event()
    histories: list[list[str]] = []

    async def uses_a_tool(turn: OpenTurn) -> AsyncIterator[ToolStarted | ToolCalled | str]:
        histories.append([message.content for message in await turn.history()])
        yield ToolStarted(call_id="1", name="look")
        called.set()
        await sent.wait()
        yield ToolCalled(call_id="1", name="look", result="green")
        yield "It is green."

    kernel = await open_kernel(agent=uses_a_tool)
    await kernel.schedule(CHAT, At(clock.now() + timedelta(minutes=1)), Say("Your flight leaves at noon."))
    await kernel.receive(CHAT, "How is the build?")
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.user_runner.step())
        await called.wait()
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.workers.courier.step()
        assert (await said(kernel))[-1] == ("assistant", "Your flight leaves at noon.")
        sent.set()
    types = [event.type for event in await kernel.log.events(CHAT)]
    assert types.index("tool_started") < types.index("message") < types.index("tool_call")
    await kernel.receive(CHAT, "Thanks")
    await quiet(kernel)
    assert histories[-1] == ["How is the build?", "It is green.", "Your flight leaves at noon."]


async def test_a_hidden_prompt_is_asked_and_not_shown(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(60), Ask("The secret plan.", hidden=True), name="Plan")
    clock.advance(minutes=1)
    await quiet(kernel)
    assert agent.asked[0].text == "The secret plan."
    assert await said(kernel) == [("user", "Scheduled cron job triggered: Plan"), ("assistant", "ok")]


async def test_a_recall_shows_its_name_and_asks_its_prompt(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    recall = Ask("Ask the user how the exam went.")
    await kernel.schedule(CHAT, At("in 1 hour"), recall, name="the exam", kind=JobKind.RECALL)
    clock.advance(hours=1)
    await quiet(kernel)
    assert agent.asked[0].text == "Ask the user how the exam went."
    assert (await said(kernel))[0] == ("user", "Recall: the exam")


async def test_a_scheduled_turn_and_its_messages_say_where_they_come_from(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), name="Look")
    clock.advance(minutes=1)
    await quiet(kernel)
    source = agent.asked[0].turn.source
    assert source is not None
    assert (source.kind, source.job_id, source.label) == ("cron", job.id, "Look")
    assert source.run_id == f"{job.id}:{job.slot}"
    assert [message.source for message in await kernel.messages(CHAT)] == [source, source]


async def test_a_function_is_called_by_its_name_with_its_arguments(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    calls: list[tuple[str, int]] = []

    async def commit(turn: OpenTurn, keep: int) -> str:
        calls.append((turn.session.key, keep))
        return "kept"

    kernel = await open_kernel(functions={"commit": commit})
    job = await kernel.schedule(CHAT, Every(60), Call("commit", {"keep": 5}))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert calls == [(CHAT, 5)]
    assert await outcomes(kernel, job) == ["ok"]
    assert await said(kernel) == [], "a function works in silence"
    assert agent.asked == []


async def test_an_unregistered_function_is_refused_when_it_is_scheduled(kernel: Kernel) -> None:
    before = await count_rows(kernel)
    with pytest.raises(BadSetting, match="no function is registered as 'dream'"):
        await kernel.schedule(CHAT, Every(60), Call("dream"))
    assert await count_rows(kernel) == before


async def test_a_function_that_this_process_does_not_know_is_an_error_that_says_so(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    async def dream(turn: OpenTurn) -> None: ...

    knows = await open_kernel(functions={"dream": dream})
    job = await knows.schedule(CHAT, Every(60), Call("dream"))
    clock.advance(minutes=1)
    does_not = await open_kernel()
    await quiet(does_not)
    [run] = await slots(does_not, job)
    assert (run.outcome, run.error) == ("error", "no function is registered as 'dream' in this process")


async def test_an_agent_that_says_nothing_leaves_an_empty_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(None)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["empty"]
    assert (await said(kernel))[-1] == ("assistant", "(no answer)")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param(ValueError("boom"), "boom", id="raises"),
        pytest.param(SystemExit(3), "SystemExit", id="exits"),
        pytest.param([42], "an agent yields strings and deltas, got int", id="yields a number"),
        pytest.param(["x" * 600_000] * 2, "grew beyond 1,000,000 characters", id="does not end"),
        pytest.param(asyncio.CancelledError(), "cancelled", id="cancels itself"),
    ],
)
async def test_a_turn_of_a_broken_agent_fails_and_the_next_one_is_well(
    kernel: Kernel, agent: ScriptedAgent, line: BaseException | list[str], error: str
) -> None:
    agent.script(line)
    broken = await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    failed = await kernel.turns.get(broken.turn_id)
    assert failed.outcome == "error"
    assert error in (failed.error or "")
    await kernel.receive(CHAT, "Still there?")
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "ok")


async def test_words_no_database_can_hold_are_kept_less_what_cannot(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    tool = ToolCalled(call_id="1", name="read\x00", result="\ud800 and \x00", arguments={"path": "\udfff"})
    agent.script(["a\x00b", tool, "c\ud800d"])
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "a\ufffdbc\ufffdd")
    assert "tool_call" in [event.type for event in await kernel.log.events(CHAT)]


async def test_the_first_words_of_a_chat_are_its_title(kernel: Kernel) -> None:
    await kernel.receive(CHAT, "\n  Plan the trip\nto Rome")
    await kernel.receive(CHAT, "And back")
    await quiet(kernel)
    assert (await kernel.sessions.get(CHAT)).title == "Plan the trip"
