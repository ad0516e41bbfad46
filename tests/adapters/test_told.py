"""The push API (`turn.tell`) in a process that is killed: what was told is stored, and its tool runs once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from segue import Agent, Delta, Event, Kernel, OpenTurn, Outcome, ToolCalled, ToolStarted, Turn
from tests.adapters.killed import SETTINGS, WritingParts, make_agent
from tests.adapters.test_kills import KILLS, processes

BEFORE = "Die before the tool."
AT = "Die at the tool."


class Pushing:
    """Reports from tasks of its own, as the hooks of a framework do."""

    reports_tools = True

    def __init__(self, parts: WritingParts) -> None:
        self._parts = parts

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._work(turn))
        yield "Noted."

    async def _work(self, turn: OpenTurn) -> None:
        await turn.tell("I write it down. ")
        if turn.text == BEFORE and self._parts.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        await turn.tell(ToolStarted(call_id="1", name="look"))
        await turn.tell(ToolCalled(call_id="1", name="look", result="nothing yet"))
        await turn.tell(ToolStarted(call_id="2", name="note", arguments={"text": "milk"}))
        result = await self._parts.note("milk")
        await turn.tell(ToolCalled(call_id="2", name="note", result=result))


def make(parts: WritingParts) -> Agent:
    return Pushing(parts)


async def killed_and_taken_over(url: str, text: str, key: str, file: Path) -> tuple[Turn, list[Event]]:
    """The turn that a killed process has left, and its log, when a successor has ended it."""
    async with (
        processes("told") as child,
        Kernel(url, agent=make_agent("told", "", file, kills=False), settings=SETTINGS) as successor,
        asyncio.timeout(60),
    ):
        asked = await successor.receive(key, text)
        assert await child.exit_code("told", url, "", str(file)) == -signal.SIGKILL
        async with asyncio.TaskGroup() as group:
            running = group.create_task(successor.run())
            turn = await successor.wait(asked)
            running.cancel()
        assert not await successor.audit()
        return turn, await successor.log.events(key)


@pytest.mark.parametrize("number", range(KILLS))
async def test_what_was_told_before_a_kill_is_in_the_log_and_its_tool_does_not_run_again(
    database_url: str, tmp_path: Path, number: int
) -> None:
    turn, events = await killed_and_taken_over(database_url, AT, "web:1", tmp_path / "notes")
    told = [(event.type, event.body["name"]) for event in events if event.type.startswith("tool")]
    assert told == [("tool_started", "look"), ("tool_call", "look"), ("tool_started", "note")]
    assert (tmp_path / "notes").read_text() == "milk\n"
    assert (turn.outcome, turn.attempt) == (Outcome.INTERRUPTED, 1)


@pytest.mark.parametrize("number", range(KILLS))
async def test_a_turn_that_told_no_tool_before_a_kill_is_run_again(
    database_url: str, tmp_path: Path, number: int
) -> None:
    turn, events = await killed_and_taken_over(database_url, BEFORE, "web:1", tmp_path / "notes")
    assert (turn.outcome, turn.attempt, turn.reply) == (Outcome.OK, 2, "I write it down. Noted.")
    assert (tmp_path / "notes").read_text() == "milk\n"
    assert [event.type for event in events].count("tool_started") == 2
