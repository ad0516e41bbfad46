"""A user's program with the public types: `make check` checks it with `mypy --strict`. Nothing runs it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from segue import (
    Ask,
    Delta,
    Event,
    Every,
    Kernel,
    LiveText,
    Message,
    OpenTurn,
    Resumed,
    Text,
    Tool,
    Toolbox,
    ToolCalled,
    ToolStarted,
    Usage,
    Waiting,
    current_turn,
    scheduling_tools,
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


async def main() -> list[str]:
    said: list[str] = []
    for agent in (MyAgent(), function):
        async with Kernel("sqlite:///a.db", agent=agent) as kernel:
            asked = await kernel.receive("chat:1", "Hi")
            turn = await kernel.wait(asked)
            said.append(turn.reply or "")
            async for heard in kernel.follow("chat:1"):
                if isinstance(heard, Event):
                    said.append(f"{heard.seq} {heard.content}")
                else:
                    live: LiveText = heard
                    said.append(live.text)
    return said
