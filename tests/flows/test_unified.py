"""Unified mode: all chats of a user share one conversation, and each job still belongs somewhere."""

import asyncio
from contextlib import aclosing

import pytest
import pytest_asyncio

from segue import Ask, At, Event, Every, JobKind, Kernel, Owner, Policy, Say, Settings
from segue.errors import SessionHasJobs
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.unified import KEY
from segue.model.policy import Busy
from segue.model.states import UnifiedOwner
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import log, outcomes, said, under_way
from tests.flows.test_crash import lose_the_worker

WEB, OTHER, PHONE = "websocket:a", "websocket:b", "test:42"

ON = Settings(unified_session=True)
TOGETHER = Settings(unified_session=True, unified_owner=UnifiedOwner.UNIFIED)


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(open_kernel: OpenKernel) -> Kernel:
    return await open_kernel(settings=ON)


async def test_what_was_said_in_one_chat_is_known_in_the_next(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("Hello, Ada.")
    await kernel.receive(WEB, "I am Ada.")
    await quiet(kernel)
    await kernel.receive(OTHER, "Who am I?")
    await quiet(kernel)
    assert [message.content for message in agent.asked[1].history] == ["I am Ada.", "Hello, Ada."]
    assert [message.content for message in await kernel.messages(KEY)] == [
        "I am Ada.",
        "Hello, Ada.",
        "Who am I?",
        "ok",
    ]


async def test_each_chat_shows_what_was_said_in_it(kernel: Kernel, agent: ScriptedAgent) -> None:
    """A chat's own view holds what came by it, under its own numbers without a gap."""
    await kernel.receive(WEB, "In the first.")
    await quiet(kernel)
    await kernel.receive(OTHER, "In the second.")
    await quiet(kernel)
    assert await said(kernel, WEB) == [("user", "In the first."), ("assistant", "ok")]
    assert await said(kernel, OTHER) == [("user", "In the second."), ("assistant", "ok")]
    assert await log(kernel, OTHER) == ["stream_start", "stream_end", "session_sync"]


async def test_a_job_belongs_to_the_chat_it_was_made_in_and_runs_in_the_common_session(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """8.1, 8.2, 1.2: the job reports, the user answers anywhere, and the next run sees both."""
    job = await kernel.schedule(WEB, Every(3600), Ask("How is the build?"), name="Build")
    assert [one.id for one in await kernel.jobs.list(WEB, ended=True)] == [job.id]
    await kernel.receive(OTHER, "Hello")
    await quiet(kernel)
    assert await kernel.jobs.list(OTHER, ended=True) == await kernel.jobs.list(KEY, ended=True) == []
    agent.script("It is red.", "I will wait.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert agent.asked[-1].turn.session.key == KEY
    assert agent.asked[-1].turn.via.key == WEB
    assert (await said(kernel, WEB))[-1] == ("assistant", "It is red.")
    await kernel.receive(OTHER, "Leave it until Monday.")
    await quiet(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    seen = [message.content for message in agent.asked[-1].history]
    assert "It is red." in seen
    assert "Leave it until Monday." in seen
    assert "Leave it until Monday." not in [words for _, words in await said(kernel, WEB)]


async def test_a_job_is_delivered_through_the_chat_that_owns_it(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """8.1: its trigger is delivered through that chat, whichever was used last."""
    await kernel.schedule(PHONE, Every(3600), Ask("Look."))
    await kernel.receive(WEB, "Hello")
    await quiet(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["ok"]


async def test_deleting_the_chat_blocks_on_its_jobs_and_takes_them_along(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """8.1, 9.1, 4.6: what waits in the common lane on its behalf is withdrawn, and the chat stays gone."""
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."))
    await kernel.receive(OTHER, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        await kernel.workers.timer.step()
        assert await outcomes(kernel, job) == [None]
        with pytest.raises(SessionHasJobs):
            await kernel.sessions.delete(WEB)
        await kernel.sessions.delete(WEB, with_jobs=True)
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Hello"]
    assert {session.key for session in await kernel.sessions.list()} == {OTHER, KEY}


async def test_a_chats_runs_outlive_the_common_session(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """Their turns go with it, and how they ended stays."""
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.receive(OTHER, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        await kernel.workers.timer.step()
        assert await outcomes(kernel, job) == ["ok", None]
        await kernel.sessions.delete(KEY)
        told = await kernel.runs.list(job=job.id)
    assert [run.outcome for run in told] in (["cancelled", "ok"], ["stopped", "ok"]), (
        "or begun as the other left"
    )
    assert await kernel.runs.list(job=job.id) == told
    assert not await kernel.audit()


async def test_a_turn_that_came_by_a_chat_is_stopped_before_the_chat_goes(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    """9.3"""
    admitted = await kernel.receive(WEB, "Hello")
    async with under_way(kernel, agent):
        await kernel.sessions.delete(WEB)
        assert (await kernel.turns.get(admitted.turn_id)).outcome == "stopped"
    assert (await said(kernel, KEY))[-1] == ("assistant", "(stopped)")


async def test_another_chats_turn_goes_on_when_a_chat_is_deleted(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.sessions.open(OTHER)
    await kernel.receive(WEB, "Hello")
    async with under_way(kernel, agent):
        await kernel.sessions.delete(OTHER)
    assert await said(kernel, WEB) == [("user", "Hello"), ("assistant", "ok")]


@pytest.mark.parametrize("key", [WEB, OTHER, KEY])
async def test_stop_and_state_reach_the_lane_from_every_key(
    kernel: Kernel, agent: ScriptedAgent, key: str
) -> None:
    await kernel.sessions.open(OTHER)
    admitted = await kernel.receive(WEB, "Hello")
    async with under_way(kernel, agent):
        assert (await kernel.sessions.overview(key)).session.holder is not None
        assert await kernel.turns.stop(key) == admitted.turn_id
        await kernel.workers.keeper.step()
    assert (await kernel.turns.get(admitted.turn_id)).outcome == "stopped"


@pytest.mark.parametrize("key", [WEB, KEY])
async def test_live_events_are_heard_under_both_keys(kernel: Kernel, agent: ScriptedAgent, key: str) -> None:
    """Also if another turn comes before it, with the text in its place."""
    agent.script(["It is ", "green."])
    await kernel.receive(WEB, "Before")
    await quiet(kernel)
    agent.script(["It is ", "green."])
    start = (await kernel.sessions.get(key)).last_seq
    heard: list[Event | LiveText] = []

    async def listen() -> None:
        async with aclosing(kernel.follow(key, after=start)) as following:
            async for one in following:
                if isinstance(one, Event | LiveText):
                    heard.append(one)
                if isinstance(one, Event) and one.type == "session_sync":
                    return

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(listen())
        await asyncio.sleep(0)
        await kernel.receive(WEB, "How is it?")
        await quiet(kernel)
    events = [one for one in heard if isinstance(one, Event)]
    assert [event.type for event in events] == ["stream_start", "stream_end", "session_sync"]
    assert [event.seq for event in events] == [start + 1, start + 2, start + 3]
    assert "".join(one.text for one in heard if isinstance(one, LiveText)) == "It is green."


async def test_who_comes_in_the_middle_hears_it_in_the_chat_too(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(WEB, "Hello")
    async with under_way(kernel, agent), aclosing(kernel.follow(WEB, after=None)) as following:
        first = await anext(following)
    assert isinstance(first, Event)
    assert (first.type, first.content) == ("stream_start", "Hello")


async def test_one_lane_for_all_chats(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(WEB, "First")
    async with under_way(kernel, agent):
        second = await kernel.receive(OTHER, "Second")
        assert second.position == 1
    assert [asked.text for asked in agent.asked] == ["First", "Second"]


async def test_a_job_that_puts_off_looks_at_the_common_lane(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."), policy=Policy(busy=Busy.SKIP))
    await kernel.receive(OTHER, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == ["skipped"]


async def test_a_written_message_is_in_the_chat_and_in_the_common_memory(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await kernel.schedule(PHONE, At("in 1 hour"), Say("Your flight leaves at noon."))
    await kernel.log.write(WEB, "system", "The user is travelling.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["Your flight leaves at noon."]
    assert await said(kernel, PHONE) == [("assistant", "Your flight leaves at noon.")]
    await kernel.receive(OTHER, "When do I leave?")
    await quiet(kernel)
    assert [message.content for message in agent.asked[0].history] == [
        "The user is travelling.",
        "Your flight leaves at noon.",
    ]


async def test_a_message_sent_before_the_first_turn_is_in_the_common_memory(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await kernel.schedule(PHONE, At("in 1 hour"), Say("Your flight leaves at noon."))
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["Your flight leaves at noon."]
    await kernel.receive(OTHER, "When do I leave?")
    await quiet(kernel)
    assert [message.content for message in agent.asked[0].history] == ["Your flight leaves at noon."]


async def test_a_turn_whose_worker_was_lost_ends_once_in_both_logs(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """Its message is counted once in the chat and in the common session; the audit compares."""
    await kernel.receive(WEB, "Hello")
    await lose_the_worker(kernel, agent, clock)
    assert not await kernel.audit()
    await quiet(kernel)
    assert await said(kernel, WEB) == await said(kernel, KEY) == [("user", "Hello"), ("assistant", "ok")]
    for key in (WEB, KEY):
        assert (await kernel.sessions.overview(key)).message_count == 2


async def test_a_chat_counts_its_message_while_its_turn_runs(kernel: Kernel, agent: ScriptedAgent) -> None:
    """Also when the chat is archived in that moment."""
    await kernel.receive(WEB, "Before.")
    await quiet(kernel)
    await kernel.receive(WEB, "Hello")
    async with under_way(kernel, agent):
        assert (await kernel.sessions.overview(WEB)).message_count == 3
        await kernel.memory.commit(WEB)
        assert not await kernel.audit()
    await quiet(kernel)
    assert [message.content for message in await kernel.messages(WEB)][-2:] == ["Hello", "ok"]


async def test_each_user_has_a_common_session_of_their_own(kernel: Kernel, agent: ScriptedAgent) -> None:
    """8.4"""
    ada, bob = Owner(user="ada"), Owner(user="bob")
    await kernel.receive(WEB, "I am Ada.", owner=ada)
    await kernel.receive(WEB, "Who am I?", owner=bob)
    await quiet(kernel)
    assert [asked.history for asked in agent.asked] == [[], []]
    assert len(await kernel.messages(KEY, owner=ada)) == len(await kernel.messages(KEY, owner=bob)) == 2


# 001's rule


async def test_jobs_can_belong_to_all_chats_together(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """8.3: owned by the common session, listed by every chat; deleting a chat neither blocks nor removes."""
    kernel = await open_kernel(settings=TOGETHER)
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."))
    await kernel.sessions.open(WEB)
    await kernel.sessions.open(OTHER)
    for key in (WEB, OTHER, KEY):
        assert [one.id for one in await kernel.jobs.list(key, ended=True)] == [job.id]
        assert [one.id for one in await kernel.jobs.list(key, kind=JobKind.CRON)] == [job.id]
    await kernel.sessions.delete(WEB)
    assert await kernel.jobs.get(job.id) == job
    with pytest.raises(SessionHasJobs):
        await kernel.sessions.delete(KEY)


async def test_a_job_of_all_chats_speaks_through_the_one_used_last(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """8.4"""
    kernel = await open_kernel(settings=TOGETHER)
    await kernel.schedule(WEB, Every(3600), Ask("Look."))
    await kernel.receive(PHONE, "I am on the road.")
    await quiet(kernel)
    agent.script("All is well.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["ok", "All is well."]
    await kernel.receive(OTHER, "Back home.")
    await quiet(kernel)
    agent.script("Still well.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["ok", "All is well."]
    assert (await said(kernel, OTHER))[-1] == ("assistant", "Still well.")


async def test_a_job_of_all_chats_speaks_through_the_newest_one_that_is_still_there(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """8.3, 8.4: the chat that was used last was deleted."""
    kernel = await open_kernel(settings=TOGETHER)
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."))
    for key in (OTHER, PHONE, WEB):
        await kernel.receive(key, "Hello")
        await quiet(kernel)
        clock.advance(seconds=1)
    await kernel.sessions.open("web:never-used")
    await kernel.sessions.delete(WEB)
    agent.script("All is well.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["ok", "All is well."]
    await kernel.sessions.delete(PHONE)
    agent.script("Still well.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert (await said(kernel, OTHER))[-1] == ("assistant", "Still well.")
    assert await outcomes(kernel, job) == ["ok", "ok"]


async def test_a_chat_deleted_while_a_job_of_all_chats_waits_or_runs_is_replaced_by_the_newest(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    kernel = await open_kernel(settings=TOGETHER)
    job = await kernel.schedule(WEB, Every(3600), Ask("Look."))
    for key in (PHONE, OTHER, WEB):
        await kernel.receive(key, "Hello")
        await quiet(kernel)
        clock.advance(seconds=1)
    clock.advance(hours=1)
    agent.script("While it ran.")
    async with under_way(kernel, agent):
        await kernel.sessions.delete(WEB)
    assert (await said(kernel, OTHER))[-1] == ("assistant", "While it ran.")
    await kernel.receive(OTHER, "Wait.")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        await kernel.workers.timer.step()
        agent.script("While it waited.")
        await kernel.sessions.delete(OTHER)
    await quiet(kernel)
    assert channel.texts == ["ok", "While it waited."]
    assert await outcomes(kernel, job) == ["ok", "ok"]
    assert await kernel.audit() == {}


# Toggling


async def test_toggling_moves_no_job(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """8.4: a job keeps its stored owner and goes on executing against it."""
    together = await open_kernel(settings=TOGETHER)
    shared = await together.schedule(WEB, Every(3600), Ask("Of all."))
    apart = await open_kernel()
    own = await apart.schedule(WEB, Every(3600), Ask("Of one."))
    clock.advance(hours=1)
    await quiet(apart)
    assert {asked.turn.session.key for asked in agent.asked} == {KEY, WEB}
    assert [one.id for one in await apart.jobs.list(WEB, ended=True)] == [own.id]
    assert [one.id for one in await apart.jobs.list(KEY, ended=True)] == [shared.id]


async def test_a_job_of_all_chats_still_speaks_through_a_chat_when_the_mode_is_off(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    together = await open_kernel(settings=TOGETHER)
    await together.schedule(WEB, Every(3600), Ask("Look."))
    apart = await open_kernel()
    await apart.receive(PHONE, "Hello")
    await quiet(apart)
    agent.script("All is well.")
    clock.advance(hours=1)
    await quiet(apart)
    assert channel.texts == ["ok", "All is well."]


async def test_toggling_moves_no_words(open_kernel: OpenKernel, agent: ScriptedAgent) -> None:
    """What was said in the chat is in the chat, and what was said in common stays in common."""
    unified = await open_kernel(settings=ON)
    await unified.receive(WEB, "In common.")
    await unified.receive(OTHER, "Elsewhere.")
    await quiet(unified)
    apart = await open_kernel()
    await apart.receive(WEB, "Alone.")
    await quiet(apart)
    assert [message.content for message in agent.asked[-1].history] == ["In common.", "ok"]
    await unified.receive(WEB, "In common again.")
    await quiet(unified)
    assert "Alone." not in [message.content for message in agent.asked[-1].history]
