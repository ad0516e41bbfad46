"""Adapters: a process that is killed at its tool. The tool does not run twice."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from io import BufferedReader, FileIO
from pathlib import Path

import pytest

from segue import Kernel, Outcome
from segue.testing import Calls, ScriptedProvider, says
from segue.testing.scripted_provider import Line, ProviderRequest
from tests.adapters.killed import SETTINGS, make_agent
from tests.docs.pages import ROOT
from tests.forks import start_program

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
LONG = os.environ.get("SEGUE_LONG") == "1"
KILLS = 20 if LONG else 1
DATABASES = ["sqlite", "postgres"] if LONG else ["sqlite"]
"""In the short form one is enough: `tests/crash` kills the transaction that stores a report on both."""
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


class KilledProcesses:
    """What `tests.adapters.killed` is told, and what it answers."""

    def __init__(self) -> None:
        reads, self._orders = os.pipe()
        answers, writes = os.pipe()
        self.streams = (reads, writes, 2)
        self._answers = BufferedReader(FileIO(answers))

    async def exit_code(self, *order: str) -> int:
        """That of a process that does this."""
        os.write(self._orders, f"{json.dumps(order)}\n".encode())
        return int(await asyncio.to_thread(self._answers.readline))

    def close(self) -> None:
        os.close(self._orders)
        self._answers.close()


@asynccontextmanager
async def processes(adapter: str) -> AsyncIterator[KilledProcesses]:
    with closing(KilledProcesses()) as killed:
        process = await start_program(
            "tests.adapters.killed", [adapter], folder=ROOT, environment=os.environ, streams=killed.streams
        )
        for stream in killed.streams[:2]:
            os.close(stream)
        try:
            yield killed
        finally:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("database_url", DATABASES, indirect=True)
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
                ended = await child.exit_code(adapter, database_url, provider.url, str(file))
                assert ended == -signal.SIGKILL
                async with asyncio.TaskGroup() as group:
                    running = group.create_task(successor.run())
                    turn = await successor.wait(asked)
                    running.cancel()
                assert file.read_text() == "milk\n"
                assert turn.outcome is Outcome.INTERRUPTED
                assert not await successor.audit()
