"""Processes that are killed at their agent's tool: `python -m tests.adapters.killed ADAPTER`.

Each line of its input, `[adapter, url, provider, file]`, is run in a process of its own, whose tool writes a
line to the file and kills the process; the answer is its exit code. The processes are forked from one that
has only imported, because imports take most of a start.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from segue import Agent, Kernel, Settings
from segue.store.open import open_database
from segue.testing import AgentParts, ScriptedProvider
from segue.testing.agent_parts import SlowDatabase

SETTINGS = Settings(lease_seconds=3, shutdown_grace_seconds=0)
"""A shorter lease ends while a framework imports its parts on a busy machine, and the turn is taken over."""


@dataclass
class WritingParts(AgentParts):
    """The tool `note` writes a line to a file, and may kill its process."""

    file: Path = field(default_factory=Path)
    kills: bool = False

    async def note(self, text: str) -> str:
        """Write a note."""
        with self.file.open("a") as file:
            file.write(f"{text}\n")
        if self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"noted: {text}"


def make_agent(adapter: str, provider_url: str, file: Path, *, kills: bool) -> Agent:
    provider = ScriptedProvider()
    provider.url = provider_url
    agent: Agent = _module(adapter).make(WritingParts(provider, file=file, kills=kills))
    return agent


def _module(adapter: str) -> Any:
    return import_module(f"tests.adapters.{'test_told' if adapter == 'told' else f'frameworks.{adapter}'}")


async def work_until_killed(adapter: str, url: str, provider_url: str, file: str) -> None:
    agent = make_agent(adapter, provider_url, Path(file), kills=True)
    database = SlowDatabase(await open_database(url))
    async with Kernel(database, agent=agent, settings=SETTINGS) as kernel:
        await kernel.run()


def how_it_ended(order: str) -> int:
    child = os.fork()
    if not child:
        os.setsid()
        asyncio.run(work_until_killed(*json.loads(order)))
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(ProcessLookupError):  # the programs that its agent started outlive it, and some never rest
        os.killpg(child, signal.SIGKILL)
    return ended


if __name__ == "__main__":
    _module(sys.argv[1])
    for line in sys.stdin:
        sys.stdout.write(f"{how_it_ended(line)}\n")
        sys.stdout.flush()
