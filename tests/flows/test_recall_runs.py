"""A recall comes due: what its agent gets, what users see, and how it ends."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from segue import Delta, Kernel, OpenTurn, Owner, ToolStarted
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import ToolContext
from segue.errors import AgentFailed
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.recall_helpers import CHECK, ended, poll, set_one, status
from tests.flows.story import CHAT, log, said, slots, under_way, until, working
from tests.tools.using import result


async def test_the_agent_is_given_the_instruction_as_the_systems_words(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C5.7, C5.8: system content for the model and in the run record; the trigger in the transcript."""
    recall = await set_one(kernel, comment="the build")
    clock.advance(minutes=30)
    await quiet(kernel)
    [asked] = agent.asked
    assert asked.turn.role == "system"
    assert asked.turn.prompt.endswith(f"\n\n{CHECK}")
    assert [message.content for message in asked.history] == ["Watch the build."]
    [run] = await slots(kernel, await kernel.store.job(recall.id))
    assert run.rendered_prompt == asked.turn.prompt
    assert (await said(kernel))[1:] == [("user", "Recall: the build"), ("assistant", "ok")]
    trigger = (await kernel.messages(CHAT))[1]
    assert trigger.source is not None
    assert (trigger.source.kind, trigger.source.job_id) == ("recall", recall.id)


async def test_without_a_comment_the_trigger_reads_as_the_instruction_begins(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.log.write(CHAT, "user", "Hello.")
    await kernel.recalls.add(CHAT, "Read notes.md.\nThen report.", when="1m")
    clock.advance(minutes=1)
    await quiet(kernel)
    assert ("user", "Recall: Read notes.md.") in await said(kernel)


@pytest.mark.parametrize("answer", ["Three errors.", None], ids=["answered", "empty"])
async def test_one_that_went_well_has_fired(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, answer: str | None
) -> None:
    """C5.9."""
    recall = await set_one(kernel)
    agent.script(answer)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert await status(kernel, recall) == "fired"
    assert await kernel.recalls.get(CHAT) is None


@pytest.mark.parametrize("call_type", ["once", "immediate"])
async def test_one_that_failed_is_cancelled_with_a_record_and_a_visible_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, call_type: str
) -> None:
    """C5.11, C5.12."""
    recall = await set_one(kernel, call_type=call_type)
    agent.script(AgentFailed("the model is gone", shown="The model could not be reached."))
    clock.advance(minutes=30)
    await quiet(kernel)
    assert await status(kernel, recall) == "cancelled"
    [run] = await slots(kernel, await kernel.store.job(recall.id))
    assert (run.outcome, run.error) == ("error", "the model is gone")
    assert (await said(kernel))[-1] == ("assistant", "The model could not be reached.")
    assert (await log(kernel))[-3:] == ["stream_end", "recall_update", "session_sync"]


async def test_a_recurring_one_that_failed_goes_on(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C5.11."""
    recall = await poll(kernel)
    agent.script(AgentFailed("no"))
    clock.advance(minutes=10)
    await quiet(kernel)
    pending = await kernel.recalls.get(CHAT)
    assert pending is not None
    assert to_moment(pending.trigger_at) == clock.now() + timedelta(minutes=5)
    clock.advance(minutes=5)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["error", "ok"]


async def test_after_a_downtime_it_fires_once_and_rests_an_interval(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C5.13, C10.1."""
    recall = await poll(kernel)
    clock.advance(days=3)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok"]
    pending = await kernel.recalls.get(CHAT)
    assert pending is not None
    assert to_moment(pending.trigger_at) == clock.now() + timedelta(minutes=5)


async def test_during_a_long_run_its_moments_pass_and_no_burst_follows(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C5.13, C4.5: one that is being executed is not picked again."""
    recall = await poll(kernel)
    clock.advance(minutes=10)
    async with under_way(kernel, agent):
        for _ in range(3):
            clock.advance(minutes=5)
            await kernel.workers.timer.step()
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok", "skipped", "skipped", "skipped"]
    assert len(agent.asked) == 1
    pending = await kernel.recalls.get(CHAT)
    assert pending is not None
    assert to_moment(pending.trigger_at) == clock.now() + timedelta(minutes=5)


async def test_one_that_is_overdue_by_months_fires_when_a_worker_runs(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C10.1."""
    recall = await set_one(kernel)
    clock.advance(days=60)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok"]
    assert "59 d 23 h late" in agent.asked[0].turn.prompt


class ToolUser:
    """An agent that calls one recall tool in each turn, by what its next line says."""

    reports_tools = True

    def __init__(self) -> None:
        self.kernel: Kernel
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[str] = []
        self.owners: list[Owner] = []

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        context = ToolContext.of(turn)
        self.owners.append(context.owner)
        if self.lines:
            name, arguments = self.lines.pop(0)
            yield ToolStarted(call_id="1", name=name, arguments=arguments)
            self.heard.append(await result(context, recall_tools(), name, **arguments))
        yield "done"


@pytest.fixture
def user_of_tools() -> ToolUser:
    return ToolUser()


async def opened(open_kernel: OpenKernel, agent: ToolUser) -> Kernel:
    agent.kernel = await open_kernel(agent=agent)
    return agent.kernel


async def test_one_that_cancels_itself_stays_cancelled(
    open_kernel: OpenKernel, clock: ManualClock, user_of_tools: ToolUser
) -> None:
    """C5.14."""
    kernel = await opened(open_kernel, user_of_tools)
    recall = await poll(kernel)
    user_of_tools.lines.append(("manage_recall", {"action": "cancel"}))
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok"]
    assert await status(kernel, recall) == "cancelled"
    clock.advance(hours=1)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok"]


async def test_one_may_set_the_next(
    open_kernel: OpenKernel, clock: ManualClock, user_of_tools: ToolUser
) -> None:
    """C5.15: its own row does not count."""
    kernel = await opened(open_kernel, user_of_tools)
    await set_one(kernel)
    again = {"call_type": "once", "when": "30m", "additional_context_message": CHECK}
    user_of_tools.lines.append(("schedule_recall", again))
    clock.advance(minutes=30)
    await quiet(kernel)
    assert [str(one.status) for one in await kernel.recalls.list(CHAT)] == ["pending", "fired"]
    clock.advance(minutes=30)
    await quiet(kernel)
    assert [str(one.status) for one in await kernel.recalls.list(CHAT)] == ["fired", "fired"]


async def test_its_tools_act_as_the_owner_of_the_session(
    open_kernel: OpenKernel, clock: ManualClock, user_of_tools: ToolUser
) -> None:
    """C5.3."""
    kernel = await opened(open_kernel, user_of_tools)
    ada, ben = Owner("one", "ada"), Owner("one", "ben")
    for owner in (ada, ben):
        await kernel.log.write(CHAT, "user", "Hello.", owner=owner)
        await kernel.recalls.add(CHAT, CHECK, when="1m", owner=owner)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert sorted(user_of_tools.owners) == [ada, ben]


class Crowd:
    """An agent that counts how many of its turns are under way; each waits until it is released."""

    reports_tools = True

    def __init__(self, full: int) -> None:
        self._full = full
        self._inside = 0
        self._gate = asyncio.Event()
        self.full = asyncio.Event()
        self.peak = 0
        self.answered = 0

    def release(self) -> None:
        self._gate.set()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self._inside += 1
        self.peak = max(self.peak, self._inside)
        if self._inside == self._full:
            self.full.set()
        await self._gate.wait()
        await asyncio.sleep(0)
        self._inside -= 1
        self.answered += 1
        yield "ok"


async def test_at_most_three_run_at_once_and_the_fourth_waits(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """C4.2: with the settings as they are by default."""
    crowd = Crowd(full=3)
    kernel = await open_kernel(agent=crowd)
    keys = [f"web:{number}" for number in range(4)]
    for key in keys:
        await kernel.log.write(key, "user", "Hello.")
        await kernel.recalls.add(key, CHECK, when="1m")
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    async with working(kernel):
        await crowd.full.wait()
        states = [(await kernel.runs.list(key))[0].state for key in keys]
        assert sorted(map(str, states)) == ["queued", "running", "running", "running"]
        crowd.release()
        for key in keys:
            await until(kernel, "stream_end", key)
    assert (crowd.peak, crowd.answered) == (3, 4)


async def test_a_sooner_one_wakes_a_loop_that_sleeps(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C4.3, C4.4: first on an empty table, then with a later one in another session."""
    kernel = await open_kernel()
    for key in ("web:late", "web:soon"):
        await kernel.log.write(key, "user", "Hello.")
    async with working(kernel):
        await kernel.recalls.add("web:late", CHECK, when="in 10 hours")
        await kernel.recalls.add("web:soon", CHECK, when="5s")
        clock.advance(seconds=5)
        await until(kernel, "stream_end", "web:soon")
    [fired] = await kernel.runs.list("web:soon")
    assert (fired.outcome, fired.lateness_ms) == ("ok", 0)
    assert len(agent.asked) == 1


async def test_a_failure_of_one_is_not_the_failure_of_the_others(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C4.6."""
    for key in ("web:1", "web:2", "web:3"):
        await kernel.log.write(key, "user", "Hello.")
        await kernel.recalls.add(key, CHECK, when="1m")
    agent.script(RuntimeError("boom"))
    clock.advance(minutes=1)
    await quiet(kernel)
    fates = [str((await kernel.recalls.list(key))[0].status) for key in ("web:1", "web:2", "web:3")]
    assert sorted(fates) == ["cancelled", "fired", "fired"]


async def test_one_whose_worker_was_lost_runs_again_and_says_so(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C10.2: as attempt 2, in the record and in `stream_start`; nothing was done twice."""
    doomed, heir = await open_kernel(), await open_kernel()
    recall = await set_one(doomed)
    clock.advance(minutes=30)
    async with under_way(doomed, agent):
        clock.advance(minutes=1)
        await heir.workers.reaper.step()
    await quiet(heir)
    [run] = await slots(heir, await heir.store.job(recall.id))
    assert (run.outcome, run.attempt) == ("ok", 2)
    starts = [event.body["attempt"] for event in await heir.log.events(CHAT) if event.type == "stream_start"]
    assert starts == [1, 2]
    assert (await said(heir)).count(("user", f"Recall: {CHECK}")) == 1
