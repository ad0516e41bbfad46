"""Bound, legacy and system jobs, and what each may deliver."""

from collections.abc import Mapping
from typing import Any

import pytest

from segue import Ask, Call, Every, JobKind, Kernel, OpenTurn
from segue.errors import BadSetting
from segue.model.prompts import QUIET, Mode
from segue.model.records import Source
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said, slots

TELEGRAM = "test:42"
"""A session whose channel is registered."""


async def asked_about(turn: OpenTurn, answer: str) -> bool:
    raise AssertionError("the answer of a bound job is not evaluated")


async def legacy(
    kernel: Kernel, *, to: str | None = TELEGRAM, channel_meta: Mapping[str, Any] | None = None
) -> str:
    action = Ask("Any news?", to=to, channel_meta=channel_meta)
    job = await kernel.schedule("cron:old", Every(60), action, kind=JobKind.LEGACY, name="News", job_id="old")
    return job.id


async def test_a_bound_job_is_never_evaluated(
    open_kernel: OpenKernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """7.2: its answer is saved and published, whatever a gate would say."""
    kernel = await open_kernel(evaluate_response=asked_about)
    job = await kernel.schedule(TELEGRAM, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert channel.texts == ["ok"]


async def test_a_legacy_job_runs_in_a_session_of_its_own_and_speaks_where_it_says(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """1.3: own session `cron:{job.id}`; the final answer goes to its address and is in its transcript."""
    await kernel.receive(TELEGRAM, "Hello")
    await quiet(kernel)
    agent.script("It snowed.")
    await legacy(kernel)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert agent.asked[-1].turn.session.key == "cron:old"
    assert agent.asked[-1].history == []
    assert channel.texts == ["ok", "It snowed."]
    assert (await said(kernel, TELEGRAM))[-1] == ("assistant", "It snowed.")
    assert (await said(kernel, "cron:old"))[-1] == ("assistant", "It snowed.")


async def test_the_channel_gets_the_metadata_of_the_session_and_that_of_a_legacy_job(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """1.3, 3.2: a legacy job's own words come last."""
    await kernel.sessions.open(TELEGRAM, metadata={"colour": "red", "message_thread_id": 1})
    await kernel.receive(TELEGRAM, "Hello")
    await kernel.receive(TELEGRAM, "Hello", metadata={"message_thread_id": 2})
    await quiet(kernel)
    await legacy(kernel, channel_meta={"message_thread_id": 3})
    clock.advance(minutes=1)
    await quiet(kernel)
    assert [one.metadata for one in channel.sent] == [
        {"colour": "red", "message_thread_id": topic} for topic in (2, 2, 3)
    ]


async def test_the_prompt_of_a_legacy_job_names_the_word_that_keeps_quiet(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """1.3: without the word no model could close the gate."""
    agent.script(QUIET, "It snowed.")
    await legacy(kernel)
    for _ in range(2):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert f"answer {QUIET} and nothing else" in agent.asked[0].turn.prompt
    assert channel.texts == ["It snowed."]
    spoke, quietly = await kernel.runs.list(job="old")
    assert (quietly.outcome, quietly.reason) == ("ok", "held back by evaluate_response")
    assert spoke.prompt_ref is not None
    assert spoke.prompt_ref.id == "cron.agent_turn.legacy"


async def test_a_legacy_job_without_a_target_delivers_nothing(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """1.3: `deliver` was not set."""
    await legacy(kernel, to=None)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == []
    assert (await said(kernel, "cron:old"))[-1] == ("assistant", "ok")


async def test_what_the_gate_holds_back_is_neither_sent_nor_in_the_transcript(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """7.3: never a response in history that the user was not shown."""

    async def no(turn: OpenTurn, answer: str) -> bool:
        return False

    kernel = await open_kernel(evaluate_response=no)
    agent.script("Nothing has changed.")
    await legacy(kernel)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == []
    assert (await said(kernel, "cron:old"))[-1] == ("assistant", "(nothing worth saying)")
    [run] = await kernel.runs.list(job="old")
    assert (run.outcome, run.reason) == ("ok", "held back by evaluate_response")
    assert run.turn_id is not None
    assert (await kernel.turns.get(run.turn_id)).reply == "Nothing has changed."
    assert all("Nothing has changed." not in str(event.body) for event in await kernel.log.events("cron:old"))


@pytest.mark.parametrize("verdict", [RuntimeError("the judge is ill"), None, "yes", 1])
async def test_a_gate_that_fails_or_does_not_say_true_is_closed(
    open_kernel: OpenKernel, clock: ManualClock, channel: RecordingChannel, verdict: object
) -> None:
    """Failing closed: nothing is delivered, and the record says why."""

    async def ill(turn: OpenTurn, answer: str) -> object:
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    kernel = await open_kernel(evaluate_response=ill)
    await legacy(kernel)
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await kernel.runs.list(job="old")
    assert channel.texts == []
    if isinstance(verdict, Exception):
        assert run.outcome == "error"
        assert "the judge is ill" in (run.error or "")
        assert (await said(kernel, "cron:old"))[-1][1].startswith("(the answer was held back")
    else:
        assert run.reason == "held back by evaluate_response"


async def test_a_legacy_job_that_fails_says_so_only_when_it_gives_up(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """7.5: after ten failures it pauses itself and says so once, in the session it delivers to."""
    agent.script(*[RuntimeError("no")] * 10)
    await legacy(kernel)
    for _ in range(11):
        clock.advance(minutes=1)
        await quiet(kernel)
    [last] = channel.texts
    assert "failed 10 times in a row and is paused" in last


async def test_a_bound_turn_is_given_its_session_as_it_is_when_it_fires(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """3.2: it knows its job, run and prompt; channel, chat and metadata are those of that moment."""
    await kernel.sessions.open(TELEGRAM, metadata={"thread": "old"})
    job = await kernel.schedule(TELEGRAM, Every(60), Ask("Look."), name="Look")
    await kernel.sessions.update(TELEGRAM, metadata={"thread": "new"})
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    turn = agent.asked[0].turn
    assert turn.source == Source(kind="cron", job_id=job.id, label="Look", run_id=run.id)
    assert turn.prompt_ref == run.prompt_ref
    assert (turn.session.channel, turn.session.chat_id) == ("test", "42")
    assert turn.session.metadata == {"thread": "new"}
    assert channel.texts == ["ok"]


async def test_only_a_legacy_job_has_a_target_of_its_own(kernel: Kernel) -> None:
    """1.1, 3.2: there is no separate delivery target."""
    with pytest.raises(BadSetting, match="speaks in the session it belongs to"):
        await kernel.schedule(CHAT, Every(60), Ask("Look.", to=TELEGRAM))
    with pytest.raises(BadSetting, match="speaks in the session it belongs to"):
        await kernel.schedule(CHAT, Every(60), Ask("Look.", channel_meta={"message_thread_id": 1}))


@pytest.mark.parametrize("name", ["dream", "heartbeat"])
async def test_a_users_job_called_like_a_system_job_is_a_users_job(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, name: str
) -> None:
    """1.4: the category comes from stored fields, never from the name."""
    job = await kernel.schedule(CHAT, Every(60), Ask("What did I dream?"), name=name)
    assert (job.kind, job.protected) == (JobKind.CRON, False)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert agent.asked[0].text == "What did I dream?"
    await kernel.jobs.delete(job.id)


async def test_a_system_job_blocks_no_deletion_and_is_protected(open_kernel: OpenKernel) -> None:
    """9.2, 11.2"""

    async def dream(turn: OpenTurn) -> None:
        return None

    kernel = await open_kernel(functions={"dream": dream})
    await kernel.schedule(CHAT, Every(7200), Call("dream"), protected=True)
    await legacy(kernel)
    await kernel.sessions.delete(CHAT)
    await kernel.sessions.delete("cron:old")
    assert await kernel.sessions.list() == []


@pytest.mark.parametrize("answer", ["NOTHING_TO_REPORT", None])
async def test_a_check_with_nothing_to_say_is_one_quiet_line(
    kernel: Kernel,
    clock: ManualClock,
    agent: ScriptedAgent,
    channel: RecordingChannel,
    answer: str | None,
) -> None:
    """7.4: a collapsed status line in the session, and no push to the channel."""
    agent.script(answer)
    job = await kernel.schedule(TELEGRAM, Every(60), Ask("Is the site up?", mode=Mode.CHECK))
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.reason) == ("empty", "nothing to report")
    assert (await said(kernel, TELEGRAM))[-1] == ("assistant", "(nothing to report)")
    assert [e.body["quiet"] for e in await kernel.log.events(TELEGRAM) if e.type == "stream_end"] == [True]
    assert channel.texts == []
    assert run.prompt_ref is not None
    assert run.prompt_ref.id == "cron.agent_turn.check"


async def test_a_check_that_found_something_speaks(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """7.4, 7.2"""
    agent.script("The site is down.")
    await kernel.schedule(TELEGRAM, Every(60), Ask("Is the site up?", mode=Mode.CHECK))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == ["The site is down."]


async def test_a_check_that_fails_is_not_quiet(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """3.4: an error is no silence."""
    agent.script(RuntimeError("no"))
    await kernel.schedule(TELEGRAM, Every(60), Ask("Is the site up?", mode=Mode.CHECK))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == ["This turn failed; its record says why."]
