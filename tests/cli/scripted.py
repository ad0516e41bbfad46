"""Runs `segue` with a scripted agent, so that a test can act in the middle of a turn.

    python -m tests.cli.scripted serve …

The user's message is the script, in pieces between bars: `Half|<wait>| and whole.` At `<wait>` the agent
waits at the test's gate until it is open.
"""

import asyncio
import os
from collections.abc import AsyncIterator

import segue.agents
from segue import Agent, Delta, OpenTurn, Text, Thinking, ToolCalled, ToolStarted
from segue.cli.main import run
from segue.config import Configuration
from segue.errors import AgentFailed


class ScriptedReplies:
    reports_tools = True

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        for piece in turn.text.split("|"):
            match piece:
                case "<wait>":
                    await _wait_at_the_gate()
                case "<fail>":
                    raise AgentFailed("there is no paper")
                case "<think>":
                    yield Thinking("Hm.")
                case "<look>":
                    yield ToolStarted(call_id="1", name="look", arguments={"at": "it"})
                    yield ToolCalled(call_id="1", name="look", arguments={"at": "it"}, result="seen")
                case _:
                    yield Text(piece)


async def _wait_at_the_gate() -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["GATE"]))
    try:
        await reader.read()
    finally:
        writer.close()


def make_agent(configuration: Configuration) -> Agent:
    return ScriptedReplies()


if __name__ == "__main__":
    segue.agents.make_agent = make_agent
    run()
