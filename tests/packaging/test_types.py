"""The public types pass `mypy --strict` in a user's program."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from segue import (
    Ask, Delta, Event, Every, Kernel, LiveText, Message, OpenTurn, Resumed, Text, Tool, Toolbox, ToolCalled,
    ToolStarted, Usage, Waiting, current_turn, scheduling_tools,
)
from segue.errors import AgentFailed, NotJson, TurnEnded


class MyAgent:
    reports_tools = True

    def __init__(self) -> None:
        self.tools: list[Tool] = scheduling_tools("cron", "memory_search")
        self.schemas = [{"name": tool.name, "parameters": dict(tool.parameters)} for tool in self.tools]

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        messages: list[Message] = await turn.history(limit=50, tools=True)
        calls: list[ToolCalled] = [call for message in messages for call in message.calls]
        news: list[Message] = await turn.outside(int(turn.saved.get("seen", 0)))
        turn.saved["seen"] = turn.seq
        box: Toolbox = await turn.tools("cron")
        said: str = await box.call("cron", {"action": "list"}, call_id="c-1")
        await turn.tell(ToolStarted(call_id="c-2", name="pay", arguments={"amount": len(calls)}))
        await turn.tell(ToolCalled(call_id="c-2", name="pay", result=said))
        try:
            await turn.tell(f"{len(news)} new")
        except TurnEnded as error:
            raise AgentFailed(str(error), shown="Too late.") from error
        resumed: Resumed | None = turn.resumed
        if resumed is None and not turn.stopping.is_set():
            yield Waiting("Go on?", ("yes", "no"), {"n": 1}, datetime.now(UTC) + timedelta(hours=1))
        job = await turn.kernel.schedule(turn.session.key, Every(3600), Ask("Look"), owner=turn.session.owner)
        yield Text(f"{turn.role}: {turn.prompt} {job.name} {current_turn().id} {NotJson.code}")
        yield Usage({"output_tokens": 1})


async def function(turn: OpenTurn) -> str | None:
    await turn.tell("told")
    return None


async def main() -> None:
    for agent in (MyAgent(), function):
        async with Kernel("sqlite:///a.db", agent=agent) as kernel:
            asked = await kernel.receive("chat:1", "Hi")
            turn = await kernel.wait(asked)
            print(turn.reply)
            async for heard in kernel.follow("chat:1"):
                if isinstance(heard, Event):
                    print(heard.seq, heard.content)
                else:
                    live: LiveText = heard
                    print(live.text)


asyncio.run(main())
"""


def test_a_users_agent_passes_mypy_strict(tmp_path: Path) -> None:
    file = tmp_path / "my_agent.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
