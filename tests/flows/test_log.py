"""The log of a session: events numbered without gaps, the live text between them, and how to follow both."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from segue import (
    Ask,
    Delta,
    Event,
    Every,
    Kernel,
    OpenTurn,
    Policy,
    Say,
    Text,
    Thinking,
    ToolCalled,
    ToolStarted,
)
from segue.errors import AgentFailed
from segue.kernel.live.hub import MOST_WAITING, LiveText
from segue.kernel.live.running import LONGEST_ANSWER, MOST_REMEMBERED
from segue.store.store import Store
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, log, under_way, until, working

TOOL = ToolStarted(call_id="1", name="look", arguments={"at": "the build"})
TOOL_DONE = ToolCalled(call_id="1", name="look", result="green", duration_ms=12)


async def test_the_numbers_of_events_have_no_gap(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(["Let me see. ", TOOL, TOOL_DONE, "Green."], ValueError("boom"))
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.schedule(CHAT, Every(60), Say("Drink."))
    for n in range(3):
        await kernel.receive(CHAT, f"Message {n}")
        await kernel.log.write(CHAT, "user", "By the way")
        clock.advance(minutes=1)
        await quiet(kernel)
    events = await kernel.log.events(CHAT, limit=500)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (await kernel.sessions.get(CHAT)).last_seq == len(events)


async def test_a_turn_is_a_start_its_tools_an_end_and_a_sync(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script(["Let me see. ", TOOL, TOOL_DONE, "Green."])
    admitted = await kernel.receive(CHAT, "How is the build?")
    await quiet(kernel)
    events = await kernel.log.events(CHAT)
    assert [event.type for event in events] == [
        "stream_start",
        "tool_started",
        "tool_call",
        "stream_end",
        "session_sync",
    ]
    assert {event.turn_id for event in events} == {admitted.turn_id}
    assert events[1].body == {"call_id": "1", "name": "look", "arguments": {"at": "the build"}}
    assert (events[2].body["result"], events[2].body["duration_ms"]) == ("green", 12)
    assert (events[3].role, events[3].content) == ("assistant", "Let me see. Green.")
    assert events[3].body == {"state": "done", "outcome": "ok"}


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("Fine.", "ok"), (None, "empty"), (AgentFailed("503"), "error"), (SystemExit(1), "error")],
    ids=["answered", "empty", "failed", "exited"],
)
async def test_the_sync_is_last_however_a_turn_ends(
    kernel: Kernel, agent: ScriptedAgent, line: str | BaseException | None, outcome: str
) -> None:
    agent.script(line)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    end, sync = (await kernel.log.events(CHAT))[-2:]
    assert (end.type, end.body["outcome"], sync.type) == ("stream_end", outcome, "session_sync")


async def test_the_sync_is_last_after_a_stop(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        await kernel.turns.stop(CHAT)
        await kernel.workers.keeper.step()
    assert (await log(kernel))[-2:] == ["stream_end", "session_sync"]


async def test_a_tool_is_in_the_log_before_the_agent_goes_on(open_kernel: OpenKernel) -> None:
    seen: list[str] = []

    async def looks(turn: OpenTurn) -> AsyncIterator[ToolStarted]:
        yield TOOL
        seen.extend(await log(kernel))

    kernel = await open_kernel(agent=looks)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert seen == ["stream_start", "tool_started"]


async def _heard(
    kernel: Kernel, *, after: int = 0, last: str = "session_sync", came_at: int | None = None
) -> list[Event | LiveText]:
    """What a follower hears, up to the first event of that type."""
    heard: list[Event | LiveText] = []
    async with aclosing(kernel.follow(CHAT, after=after, came_at=came_at)) as following:
        async for one in following:
            heard.append(one)
            if isinstance(one, Event) and one.type == last:
                return heard
    return heard


async def _live_texts(kernel: Kernel, agent: ScriptedAgent) -> list[LiveText]:
    """What a follower hears live of a turn that waits."""
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_heard(kernel))
        await asyncio.sleep(0)
        async with under_way(kernel, agent):
            await until(kernel, "stream_start")
    return [one for one in follower.result() if isinstance(one, LiveText)]


async def test_live_text_carries_its_place(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script([Thinking("Hm"), Thinking("m."), "Gre", Text("en, "), TOOL, TOOL_DONE, "I think."])
    await kernel.receive(CHAT, "How is the build?")
    text = [(one.type, one.seq, one.offset, one.text) for one in await _live_texts(kernel, agent)]
    assert text == [
        ("thinking_delta", 1, 0, "Hm"),
        ("thinking_delta", 1, 2, "m."),
        ("stream_delta", 1, 0, "Gre"),
        ("stream_delta", 1, 3, "en, "),
        ("stream_delta", 3, 7, "I think."),
    ]


@pytest.mark.parametrize("after", [0, 1, 3, 5])
async def test_a_follower_from_any_number_hears_each_event_once(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, after: int
) -> None:
    await kernel.receive(CHAT, "First")
    await kernel.log.write(CHAT, "user", "By the way")
    await quiet(kernel)
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_heard(kernel, after=after, last="the end"))
        await asyncio.sleep(0)
        agent.script(["Let me see. ", TOOL, TOOL_DONE, "Green."])
        await kernel.receive(CHAT, "Second")
        await kernel.receive(CHAT, "Third")
        await quiet(kernel)
        events = await kernel.log.events(CHAT)
        end = Event(session_id=events[0].session_id, seq=len(events) + 1, type="the end", at=clock.ms())
        kernel.hub.publish([end])
    heard = [one.seq for one in follower.result() if isinstance(one, Event)]
    assert heard == list(range(after + 1, len(events) + 2))


@pytest.mark.parametrize(("came_at", "pieces"), [(None, []), (0, ["Hmm.", "Green."]), (9, [])])
async def test_of_a_turn_that_ended_while_its_follower_came_the_text_is_news(
    kernel: Kernel, agent: ScriptedAgent, came_at: int | None, pieces: list[str]
) -> None:
    """Its end is not sent as a replay, so a client would not look for the text in it."""
    agent.script([Thinking("Hm"), Thinking("m."), "Green."])
    await kernel.receive(CHAT, "How is the build?")
    await quiet(kernel)
    heard = await _heard(kernel, came_at=came_at)
    assert [one.text for one in heard if isinstance(one, LiveText)] == pieces


class Thinker:
    """Thinks, waits until it is released, and answers."""

    reports_tools = True

    def __init__(self) -> None:
        self.has_thought = asyncio.Event()
        self.may_speak = asyncio.Event()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        yield Thinking("Hm")
        yield Thinking("m.")
        self.has_thought.set()
        await self.may_speak.wait()
        yield Thinking(" Yes.")
        yield "Green."


async def test_a_follower_who_comes_in_the_middle_of_a_turn_is_given_its_thoughts(
    open_kernel: OpenKernel,
) -> None:
    agent = Thinker()
    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "How is the build?")
    text: list[LiveText] = []
    async with working(kernel):
        await agent.has_thought.wait()
        async with aclosing(kernel.follow(CHAT)) as following:
            async for one in following:
                if isinstance(one, LiveText):
                    text.append(one)
                    agent.may_speak.set()
                elif one.type == "session_sync":
                    break
    assert [(one.type, one.offset, one.text, one.replay) for one in text] == [
        ("thinking_delta", 0, "Hmm.", True),
        ("thinking_delta", 4, " Yes.", False),
        ("stream_delta", 0, "Green.", False),
    ]


async def test_thoughts_of_turns_that_ended_are_forgotten_in_time(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    for _ in range(3):
        agent.script([Thinking("x" * (MOST_REMEMBERED // 2 + 1)), "Green."])
        await kernel.receive(CHAT, "How is the build?")
        await quiet(kernel)
    heard: list[Event | LiveText] = []
    async with aclosing(kernel.follow(CHAT, after=0, came_at=0)) as following:
        async for one in following:
            heard.append(one)
            if [event.type for event in heard if isinstance(event, Event)].count("stream_end") == 3:
                break
    assert [one.type for one in heard if isinstance(one, LiveText)] == [
        "stream_delta",
        "stream_delta",
        "thinking_delta",
        "stream_delta",
    ]


class Pausing:
    """Speaks in three pieces, and stands still after each."""

    reports_tools = True

    def __init__(self) -> None:
        self._steps = asyncio.Semaphore(0)
        self._spoken = asyncio.Semaphore(0)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        for piece in ("One, ", "two, ", "three."):
            yield piece
            self._spoken.release()
            await self._steps.acquire()

    async def spoken(self) -> None:
        await self._spoken.acquire()

    def go_on(self) -> None:
        self._steps.release()


async def test_who_comes_in_the_middle_of_a_turn_is_given_what_was_said_so_far(
    open_kernel: OpenKernel,
) -> None:
    agent = Pausing()
    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "Count")
    async with working(kernel), asyncio.TaskGroup() as group:
        await agent.spoken()
        agent.go_on()
        await agent.spoken()
        heard: asyncio.Queue[Event | LiveText] = asyncio.Queue()
        follower = group.create_task(_tell(kernel, heard))
        first, draft = await heard.get(), await heard.get()
        assert isinstance(first, Event)
        assert isinstance(draft, LiveText)
        assert (first.type, draft.offset, draft.text) == ("stream_start", 0, "One, two, ")
        agent.go_on()
        third = await heard.get()
        assert isinstance(third, LiveText)
        assert (third.offset, third.text) == (10, "three.")
        agent.go_on()
        await follower


async def _tell(kernel: Kernel, heard: asyncio.Queue[Event | LiveText]) -> None:
    async with aclosing(kernel.follow(CHAT)) as following:
        async for one in following:
            heard.put_nowait(one)
            if isinstance(one, Event) and one.type == "session_sync":
                return


async def test_any_process_can_read_what_was_said_so_far(open_kernel: OpenKernel) -> None:
    agent = Pausing()
    speaks, reads = await open_kernel(agent=agent), await open_kernel()
    await speaks.receive(CHAT, "Count")
    async with asyncio.TaskGroup() as group:
        group.create_task(speaks.workers.user_runner.step())
        await agent.spoken()
        await speaks.workers.keeper.step()
        async with aclosing(reads.follow(CHAT)) as following:
            await anext(following)
            draft = await anext(following)
        assert isinstance(draft, LiveText)
        assert draft.text == "One, "
        for _ in range(3):
            agent.go_on()


class SlowLog(Store):
    """Hands out what it has read of a log when it may, however old that is by then."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.store.database, kernel.clock)
        self.was_read = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def events(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        page = await super().events(session_id, after=after, limit=limit)
        self.was_read.set()
        await self.may_go_on.wait()
        return page


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
async def test_who_comes_back_while_its_turn_ends_is_not_told_as_news_what_it_may_have_heard(
    open_kernel: OpenKernel, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Pausing()
    speaks = await open_kernel(agent=agent)
    reads = await open_kernel() if elsewhere else speaks
    await speaks.receive(CHAT, "Count")
    store = SlowLog(reads)
    monkeypatch.setattr(reads.store, "events", store.events)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        turn = group.create_task(speaks.workers.user_runner.step())
        await agent.spoken()
        follower = group.create_task(_heard(reads, after=1))
        await store.was_read.wait()
        for _ in range(3):
            agent.go_on()
        await turn
        store.may_go_on.set()
        reads.hub.look_again()
    pieces = [(one.offset, one.text, one.replay) for one in follower.result() if isinstance(one, LiveText)]
    assert pieces == [(0, "One, two, three.", True)]


async def test_a_listener_that_cannot_keep_up_reads_on_from_the_log(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "Hello")
    session = await kernel.sessions.get(CHAT)
    async with aclosing(kernel.follow(CHAT)) as following:
        first = await anext(following)
        second = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0)
        for n in range(MOST_WAITING + 10):
            kernel.hub.live(
                LiveText(
                    session_id=session.id,
                    turn_id="t",
                    attempt=1,
                    type="stream_delta",
                    seq=1,
                    offset=n,
                    text="x",
                )
            )
        written = await kernel.log.write(CHAT, "user", "Still there?")
        heard = await second
        while not isinstance(heard, Event):
            heard = await anext(following)
    assert isinstance(first, Event)
    assert (first.seq, heard.seq, heard.content) == (1, 2, "Still there?")
    assert written.seq == 2


async def test_a_follower_hears_what_another_process_wrote(open_kernel: OpenKernel) -> None:
    here, there = await open_kernel(), await open_kernel()
    await here.log.write(CHAT, "user", "Hello")
    async with aclosing(here.follow(CHAT)) as following:
        await anext(following)
        await there.log.write(CHAT, "user", "From elsewhere")
        here.hub.look_again()
        heard = await anext(following)
    assert isinstance(heard, Event)
    assert heard.content == "From elsewhere"


async def test_events_can_be_read_from_a_number_on_and_by_pages(kernel: Kernel) -> None:
    for n in range(5):
        await kernel.log.write(CHAT, "user", f"Message {n}")
    assert [event.seq for event in await kernel.log.events(CHAT, after=2, limit=2)] == [3, 4]
    assert [message.seq for message in await kernel.messages(CHAT, after=3)] == [4, 5]


async def test_a_retry_is_marked_in_the_log_with_its_moment(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(AgentFailed("503"))
    await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(retries=1))
    clock.advance(minutes=1)
    await quiet(kernel)
    end = (await kernel.log.events(CHAT))[-2]
    assert (end.type, end.role, end.body["outcome"]) == ("stream_end", None, None)
    assert end.body["retry_at"] > clock.ms()
    clock.advance(minutes=1)
    await quiet(kernel)


async def test_thoughts_are_cleaned_and_limited_like_text(kernel: Kernel, agent: ScriptedAgent) -> None:
    """A lone surrogate could not be sent to any follower."""
    agent.script([Thinking("Hm\ud800"), "Green."], [Thinking("x" * (LONGEST_ANSWER + 1)), "Green."])
    await kernel.receive(CHAT, "How is the build?")
    assert [one.text for one in await _live_texts(kernel, agent)] == ["Hm\ufffd", "Green."]
    again = await kernel.receive(CHAT, "And now?")
    await quiet(kernel)
    assert "the thoughts grew beyond" in str((await kernel.turns.get(again.turn_id)).error)
