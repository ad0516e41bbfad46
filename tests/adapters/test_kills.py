"""Adapters: a process that is killed at its tool. The tool does not run twice."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from segue import Kernel, Outcome
from segue.testing import Calls, ScriptedProvider, says
from segue.testing.scripted_provider import Line, ProviderRequest
from tests.adapters.killed import SETTINGS, make_agent

REPORTING = {
    "adk": "note",
    "agno": "note",
    "claude": "mcp__shop__note",
    "langgraph": "note",
    "openai_agents": "note",
    "openai_compatible": "note",
    "pydantic_ai": "note",
}
"""The adapters that report a tool before it runs, and what their models call the tool."""
KILLS = 20 if os.environ.get("SEGUE_LONG") == "1" else 1
_TIMEOUT = 60.0


class NotingProvider(ScriptedProvider):
    """Lets the model call the tool once."""

    def __init__(self, tool: str) -> None:
        super().__init__(keep_alive=False)
        self._tool = tool

    def line_for(self, asked: ProviderRequest) -> Line:
        if "noted: " in str(asked.body):
            return says("Noted.")
        return says(Calls(self._tool, '{"text": "milk"}'))


@asynccontextmanager
async def processes(adapter: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.adapters.killed", adapter),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.parametrize("adapter", REPORTING)
async def test_a_tool_at_which_the_process_is_killed_does_not_run_again(
    adapter: str, database_url: str, tmp_path: Path
) -> None:
    provider = NotingProvider(REPORTING[adapter])
    async with provider.listening(), processes(adapter) as child, asyncio.timeout(_TIMEOUT * KILLS):
        for number in range(KILLS):
            file = tmp_path / f"notes {number}"
            agent = make_agent(adapter, provider.url, file, kills=False)
            async with Kernel(database_url, agent=agent, settings=SETTINGS) as successor:
                asked = await successor.receive(f"web:{number}", "Note milk.")
                assert (
                    await exit_code(child, [adapter, database_url, provider.url, str(file)])
                    == -signal.SIGKILL
                )
                async with asyncio.TaskGroup() as group:
                    running = group.create_task(successor.run())
                    turn = await successor.wait(asked)
                    running.cancel()
                assert file.read_text() == "milk\n"
                assert turn.outcome is Outcome.INTERRUPTED
                assert not await successor.audit()


async def exit_code(child: asyncio.subprocess.Process, order: list[str]) -> int:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{json.dumps(order)}\n".encode())
    return int(await child.stdout.readline())
