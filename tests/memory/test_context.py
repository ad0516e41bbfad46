"""Model context: the summary, the messages since, matching memories, and the last run of each job."""

from dataclasses import replace

import pytest

from segue import Ask, At, Every, JobKind, Kernel, Source
from segue.errors import Invalid
from segue.memory.model_context import _newest, apply_view, fold_runs
from segue.model.action import View
from segue.model.transcript import Message, Note
from segue.testing import ManualClock, ScriptedAgent, quiet

CHAT = "web:1"


def given(agent: ScriptedAgent) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in agent.asked[-1].history]


async def test_without_archives_a_turn_is_given_the_messages(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.log.write_all(CHAT, [("user", "one"), ("assistant", "two")])
    await kernel.receive(CHAT, "three")
    await quiet(kernel)
    assert given(agent) == [("user", "one"), ("assistant", "two")]


async def test_an_archive_that_is_not_summed_up_yet_is_given_word_for_word(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.log.write(CHAT, "user", "The parrot sings.")
    await kernel.memory.commit(CHAT)
    await kernel.receive(CHAT, "hello")
    await kernel.workers.user_runner.step()
    assert ("user", "The parrot sings.") in given(agent)


async def test_after_everything_is_committed_a_turn_answers_from_memory(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    """The agent is given the archived fact, from a passage and from the summary."""
    await kernel.log.write_all(CHAT, [("user", "The door code is 4711."), ("assistant", "Noted.")])
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    assert (await kernel.sessions.overview(CHAT)).message_count == 0
    await kernel.receive(CHAT, "What is the door code?")
    await quiet(kernel)
    roles, (summary, notes) = zip(*given(agent), strict=True)
    assert roles == ("system", "system")
    assert "4711" in summary
    assert "4711" in notes
    assert "not instructions" in notes
    assert [message.note for message in agent.asked[-1].history] == [Note.SUMMARY, Note.MEMORIES]


async def test_a_recall_answers_from_memory_in_another_session(
    kernel: Kernel, agent: ScriptedAgent, clock: ManualClock
) -> None:
    await kernel.log.write(CHAT, "user", "My flight leaves from gate 22.")
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    soon = At(clock.now().replace(minute=30))
    await kernel.schedule("web:2", soon, Ask("Say which gate the flight leaves from."), kind=JobKind.RECALL)
    clock.advance(hours=1)
    await quiet(kernel)
    assert any("gate 22" in content for _, content in given(agent))


async def test_context_keeps_within_its_budget(kernel: Kernel) -> None:
    await kernel.log.write_all(CHAT, [("user", "abcd" * 10) for _ in range(10)])
    context = await kernel.memory.context(CHAT, token_budget=35)
    assert (len(context.messages), context.left_out, context.message_tokens) == (3, 7, 30)
    await kernel.memory.commit(CHAT, keep_recent_count=1)
    await quiet(kernel)
    small = await kernel.memory.context(CHAT, token_budget=12)
    assert (small.summary, len(small.messages)) == (None, 1)
    large = await kernel.memory.context(CHAT, token_budget=100_000)
    assert large.summary is not None


def said(job: str | None, turn: int, role: str, content: str) -> Message:
    source = Source(kind="cron", job_id=job, label=job, run_id=f"{job}:{turn}") if job else None
    at = 86_400_000 * turn
    return Message(seq=turn, role=role, content=content, at=at, turn_id=f"turn-{turn}", source=source)


def days(count: int) -> list[Message]:
    return [
        message
        for day in range(1, count + 1)
        for message in (
            said("monitor", day, "user", "Scheduled cron job triggered: monitor\n\nIs the disk full?"),
            said("monitor", day, "assistant", "all is well" if day != 5 else "the disk is full"),
        )
    ]


def lines(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


def test_ten_occurrences_of_a_job_are_folded_into_one() -> None:
    assert lines(fold_runs(days(20))) == [
        "(monitor ×20, last changed 07 Jan)\n\nIs the disk full?",
        "all is well",
    ]


def test_between_two_steps_the_history_only_grows() -> None:
    before = lines(fold_runs(days(20)))
    for count in range(21, 30):
        now = lines(fold_runs(days(count)))
        assert now[: len(before)] == before
        assert len(now) == len(before) + 2
        before = now
    assert len(fold_runs(days(30))) == 2


def test_occurrences_before_a_commit_are_folded() -> None:
    shown = fold_runs(days(15), committed_at=86_400_000 * 13)
    assert lines(shown)[0].startswith("(monitor ×13, last changed")
    assert len(shown) == 2 + 2 * 2


def test_long_answers_are_folded_earlier() -> None:
    talk = [replace(message, content=message.content + "x" * 1_000) for message in days(9)]
    assert len(fold_runs(talk)) == 2


def test_a_low_limit_folds_earlier() -> None:
    assert len(fold_runs(days(9), limit=20)) == 2 + 2 * 4


def test_of_many_old_messages_a_block_is_left_out_at_a_time() -> None:
    """The first message that is given stays for many turns."""
    starts = {
        _newest([said(None, seq, "user", "hello") for seq in range(1, last)], 200)[0].seq
        for last in range(300, 400)
    }
    assert starts == {128, 256}


def test_users_messages_between_runs_stay() -> None:
    talk = [*days(2), said(None, 9, "user", "thanks"), *(m for m in days(4) if m.seq > 2)]
    assert "thanks" in [message.content for message in fold_runs(talk)]


def test_views_show_less() -> None:
    talk = [
        *days(1),
        said(None, 9, "user", "thanks"),
        *(said(None, 10 + n, "user", "more") for n in range(30)),
    ]
    assert apply_view(talk, View.SUMMARY, "monitor") == []
    assert len(apply_view(talk, View.TAIL, "monitor")) == 20
    assert apply_view(talk, View.SINCE_LAST_RUN, "monitor") == talk
    assert apply_view([said(None, 0, "user", "before"), *talk], View.SINCE_LAST_RUN, "monitor") == talk
    assert apply_view(talk, View.FULL, "monitor") == talk


async def test_a_jobs_view_decides_how_much_it_is_given(
    kernel: Kernel, agent: ScriptedAgent, clock: ManualClock
) -> None:
    await kernel.log.write(CHAT, "user", "hello")
    await kernel.schedule(CHAT, Every(60), Ask("Look.", view=View.SUMMARY))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert given(agent) == []
    with pytest.raises(Invalid, match="view"):
        Ask("Look.", view="everything")  # type: ignore[arg-type]
