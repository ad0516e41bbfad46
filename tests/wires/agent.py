"""The agent of the tests of wires: what it does follows from the message."""

import asyncio
from collections.abc import AsyncIterator

from segue import Delta, OpenTurn, Text, Thinking, ToolCalled, ToolStarted, Usage, Waiting
from segue.errors import AgentFailed


class WireAgent:
    """`tool`, `think`, `ask`, `fail`, `hold`, `nothing`; to anything else it answers `You said: …`."""

    reports_tools = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.files: list[tuple[str, str, bytes]] = []
        """The name, the type and the content of each file that came with a message."""
        self.histories: list[list[str]] = []
        self.holding = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self.asked.append(turn.text)
        for file in turn.parts:
            self.files.append((file.name, file.media_type, await turn.kernel.files.read(file)))
        self.histories.append([message.content for message in await turn.history()])
        match turn.text.split()[0]:
            case "tool":
                yield "Let me look. "
                yield ToolStarted(call_id="call-1", name="look", arguments={"at": "the build"})
                yield ToolCalled(call_id="call-1", name="look", arguments={"at": "the build"}, result="green")
                yield ToolStarted(call_id="call-2", name="open", arguments={})
                yield ToolCalled(call_id="call-2", name="open", error="it is locked")
                yield Text("It is green.")
                yield Usage({"input_tokens": 12, "output_tokens": 5})
            case "think":
                yield Thinking("Hm.")
                yield "Yes."
            case "ask":
                yield "I can pay. "
                yield Waiting("Pay now?", ("yes", "no"))
            case "fail":
                yield "Half an ans"
                raise AgentFailed("the provider is down", shown="I cannot answer now.")
            case "hold":
                yield "So far"
                self.holding.set()
                await self.go_on.wait()
                yield " and on."
            case "nothing":
                return
            case _:
                yield "You said: "
                yield turn.text
