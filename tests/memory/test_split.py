"""Archive boundaries: whole turns, questions with their answers, and no running turn."""

import asyncio

import pytest

from segue import Kernel
from segue.errors import BadSetting, NotFound
from segue.kernel.transactions.memory.archive import ArchiveMade, CommitSkipped
from segue.memory.split import ArchiveMark, cut
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import under_way

CHAT = "web:1"


def marks(script: str) -> list[ArchiveMark]:
    """`u` and `a` are written messages; `t(…)` is a turn, by letters: opening, what is in it, its end."""
    made: list[ArchiveMark] = []
    turn: str | None = None
    for letter in script.replace(" ", ""):
        seq = len(made) + 1
        match letter:
            case "(":
                turn = f"turn-{seq}"
                made.append(ArchiveMark(seq, "stream_start", turn, "user", False, 1))
            case ")":
                made.append(ArchiveMark(seq, "stream_end", turn, "assistant", False, 1))
                turn = None
            case "u" | "a":
                role = "user" if letter == "u" else "assistant"
                made.append(ArchiveMark(seq, "message", None, role, False, 1))
            case "s":
                made.append(ArchiveMark(seq, "message", None, "assistant", True, 1))
    return made


@pytest.mark.parametrize(
    ("script", "keep", "cuts"),
    [
        ("u u u", 0, 3),
        ("u u u", 1, 2),
        ("u u u", 3, 0),
        ("u u u", 9, 0),
        ("() ()", 0, 4),
        ("() ()", 1, 2),  # a turn is not cut: two stay where one was asked for
        ("() ()", 2, 2),
        ("() ()", 3, 0),
        ("ua ua", 1, 2),  # nor is an answer taken from its question
        ("ua ua", 2, 2),
        ("u aa", 1, 2),
        ("(u) u", 1, 3),  # a message that was written during a turn goes with the turn
        ("(u) u", 2, 0),
        ("u s", 1, 1),  # a scheduled message is no answer
        ("", 0, 0),
    ],
)
def test_a_cut_falls_between_exchanges(script: str, keep: int, cuts: int) -> None:
    """A4.4; a split that never separates a trigger or question from its answer."""
    assert cut(marks(script), keep, set()) == cuts


def test_a_running_turn_and_everything_after_it_stays() -> None:
    log = marks("ua () u")
    assert cut(log, 0, {"turn-3"}) == 2


def test_a_turn_of_two_attempts_is_one() -> None:
    first, second = marks("()"), marks("()")
    log = [*first, *(mark._replace(seq=mark.seq + 2, turn_id="turn-1") for mark in second)]
    assert cut(log, 1, set()) == 0
    assert cut(log, 0, set()) == 4


async def test_a_commit_of_nothing_gives_its_reason(kernel: Kernel) -> None:
    """A11.2; the two reasons of a skip."""
    await kernel.sessions.open(CHAT)
    assert await kernel.memory.commit(CHAT) == CommitSkipped("no_messages")
    await kernel.log.write(CHAT, "user", "hello")
    assert await kernel.memory.commit(CHAT, keep_recent_count=1) == CommitSkipped("all_within_keep_window")
    with pytest.raises(BadSetting):
        await kernel.memory.commit(CHAT, keep_recent_count=-1)
    with pytest.raises(NotFound):
        await kernel.memory.commit("web:nowhere")


async def test_a_commit_in_the_middle_of_a_turn_leaves_it_whole(kernel: Kernel, agent: ScriptedAgent) -> None:
    """DESIGN 3.7."""
    await kernel.receive(CHAT, "first")
    await quiet(kernel)
    await kernel.receive(CHAT, "second")
    async with under_way(kernel, agent):
        await kernel.log.write(CHAT, "user", "meanwhile")
        done = await kernel.memory.commit(CHAT)
        assert isinstance(done, ArchiveMade)
        assert [m.content for m in await kernel.memory.archived_messages(CHAT, 1)] == ["first", "ok"]
        assert (await kernel.sessions.overview(CHAT)).message_count == 2
        assert not await kernel.audit()
    assert (await kernel.sessions.overview(CHAT)).message_count == 3
    await kernel.memory.commit(CHAT)
    assert [m.content for m in await kernel.memory.archived_messages(CHAT, 2)] == [
        "second",
        "meanwhile",
        "ok",
    ]


async def test_a_turn_that_waits_for_its_second_attempt_is_not_archived(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "hello")
    agent.pause()
    async with asyncio.TaskGroup() as group:
        lost = group.create_task(kernel.workers.user_runner.step())
        await agent.under_way()
        clock.advance(minutes=1)
        await kernel.workers.reaper.step()
        assert await kernel.memory.commit(CHAT) == CommitSkipped("all_within_keep_window")
        assert not await kernel.audit()
        agent.go_on()
        await lost
    await quiet(kernel)
    assert isinstance(await kernel.memory.commit(CHAT), ArchiveMade)
    assert [m.content for m in await kernel.memory.archived_messages(CHAT, 1)] == ["hello", "ok"]


async def test_the_transcript_stays_whole(kernel: Kernel) -> None:
    for number in range(3):
        await kernel.log.write(CHAT, "user", f"word {number}")
        await kernel.memory.commit(CHAT)
    assert [m.content for m in await kernel.messages(CHAT)] == ["word 0", "word 1", "word 2"]
    assert [each.n for each in await kernel.memory.archives(CHAT)] == [3, 2, 1]
