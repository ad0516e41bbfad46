"""A test server, run as a separate process, with an agent that does what the message says.

With `offline` the agent is the one that `segue serve` has without a model. With `private` the server may call
this machine, where doubles of services are. With `mortal` its leases are short, so that the work of a killed
server is soon reclaimed; on a busy machine, a server with short leases loses some without being killed.
It listens and runs as `segue serve` does.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from segue import (
    Channel,
    Delivery,
    Delta,
    Kernel,
    OpenTurn,
    Receipt,
    Rejected,
    Settings,
    Stored,
    Text,
    Thinking,
    ToolCalled,
    ToolStarted,
    Usage,
    Waiting,
)
from segue.agents import make_agent
from segue.cli.support.event_loop import run
from segue.cli.support.http_server import listening_socket
from segue.config import Configuration
from segue.server import create_app, mount
from segue.testing import RecordingChannel
from tests.web.streamed_documents import DOCUMENTS

RICH = """## Report

It is **green**, see [the log](https://example.org/log).

| build | state |
|---|---|
| 418 | ok |

```python
print("hello")
```

<script>window.harmed = true</script><img src=x onerror="window.harmed = true">
[trap](javascript:window.harmed=true)
"""


KNOWN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "The deploy went out at 14:10, watch it.": (
        "schedule_recall",
        {"call_type": "recurring", "when": "10m", "interval_seconds": 600},
        "Set.",
        "I look every ten minutes and speak up if the **error rate** moves. The first look is at 14:20.",
    ),
    "Is the build green?": (
        "read_file",
        {"path": "build.log"},
        "build 418: ok",
        "Build **418** is green; the error rate is 0.2 %.",
    ),
    "Pack for Berlin": (
        "read_file",
        {"path": "trip.md"},
        "rain",
        "It rains until Tuesday: take the good shoes.",
    ),
    "构建通过了吗？": (
        "read_file",
        {"path": "build.log"},
        "build 418: ok",
        "构建 **418** 已通过，错误率 0.2%。",
    ),
}
"""For the pictures: message → tool call and answer."""

SAID = {
    "I live in Rome and I like tea. We decided to ship on Friday.": "Friday it is. I keep that in mind.",
    "When do I prune roses?": "In late winter, before the buds open.",
    "What is still missing?": "Only the receipt for the desk.",
    "玫瑰什么时候修剪？": "冬末，发芽之前。",
    "还缺什么？": "只差书桌的收据。",
    "去柏林带什么？": "周二前都有雨，带上好鞋。",
}


class PageAgent:
    """`stream 50 20`: fifty words, 20 ms apart. `document 0 5`: an answer in pieces, 5 ms apart.
    `steps 0 40 90`: the same in three pieces, each ended by a `next` in another session.
    `hold` and `blocks`: until stopped. `think`, `tool`, `rich`, `fail`, `nothing`, `ask`: one of each.
    `spend 1200 0.02`: tokens, and what they cost if that is given. `recall every 600`: a recurring recall.
    `ask 60`: a question with two choices, which waits for 60 s.
    Any other message is echoed."""

    reports_tools = True

    def __init__(self) -> None:
        self._steps = asyncio.Semaphore(0)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        words = turn.text.strip().rpartition("\n")[2].split()
        if known := KNOWN.get(" ".join(words)):
            name, given, result, said = known
            yield ToolStarted(call_id="1", name=name, arguments=given)
            yield ToolCalled(call_id="1", name=name, arguments=given, result=result, duration_ms=14)
            yield Text(said)
            return
        match words:
            case ["stream", count, pause]:
                for number in range(int(count)):
                    yield Text(f"w{number} " if number % 9 else f"w{number} 🙂 **b{number}** ")
                    await asyncio.sleep(int(pause) / 1000)
            case ["blocks", *_]:
                for piece in ("First **one**.\n\n", "```\ncode\n\nLine\n```\n\n", "Last *two*."):
                    yield Text(piece)
                    await asyncio.sleep(0.5)
                await asyncio.sleep(600)
            case ["document", number, pause]:
                document = DOCUMENTS[int(number)]
                for start in range(0, len(document), 3):
                    yield Text(document[start : start + 3])
                    await asyncio.sleep(int(pause) / 1000)
            case ["steps", number, *ends]:
                document = DOCUMENTS[int(number)]
                for start, end in pairwise([0, *map(int, ends), len(document)]):
                    yield Text(document[start:end])
                    await self._steps.acquire()
            case ["next"]:
                self._steps.release()
            case ["hold", *_]:
                yield Text("One moment")
                await asyncio.sleep(600)
            case ["think", *_]:
                yield Thinking("First this, ")
                yield Thinking("then that.")
                yield Text("So be it.")
            case ["tool", *_]:
                given = {"path": "build.log", "lines": 3}
                yield ToolStarted(call_id="1", name="read_file", arguments=given)
                yield ToolCalled(
                    call_id="1", name="read_file", arguments=given, result="build 418: ok", duration_ms=14
                )
                yield Text("Build 418 is fine.")
            case ["rich", *_]:
                yield Text(RICH)
            case ["fail", *_]:
                raise RuntimeError("the model fell over")
            case ["nothing", *_]:
                return
            case ["ask", _] | ["Pay", "Ana's", "invoice."]:
                yield Text("The invoice is **ready**.")
                seconds = int(words[1]) if words[0] == "ask" else 3600
                until = datetime.now(UTC) + timedelta(seconds=seconds)
                yield Waiting("Pay **120 €** to Ana?", ("Yes, pay it", "Not now"), until=until)
            case ["spend", tokens, *cost]:
                used = {"requests": {"m": 1}, "input_tokens": int(tokens) - 7, "output_tokens": 7}
                yield Text("Spent.")
                yield Usage(used | ({"cost_usd": float(cost[0])} if cost else {}))
                return
            case ["recall", "every", seconds]:
                given = {
                    "call_type": "recurring",
                    "when": f"{seconds}s",
                    "interval_seconds": int(seconds),
                    "internal_comment": "read build.log",
                    "additional_context_message": "Read build.log.",
                }
                yield ToolStarted(call_id="1", name="schedule_recall", arguments=given)
                made = await (await turn.tools()).call("schedule_recall", given, call_id="1")
                yield ToolCalled(call_id="1", name="schedule_recall", arguments=given, result=made)
                yield Text("I look again and again.")
            case ["ask"]:
                yield Waiting("Which day suits you?")
            case _:
                said = " ".join(words)
                yield Text(SAID.get(said, f"You said: {said}"))
        yield Usage({"output_tokens": 7})


class Refusing(Channel):
    """A channel that refuses every delivery. The page can still read its sessions."""

    name = "refusing"

    async def send(self, delivery: Delivery) -> Receipt:
        raise Rejected("Telegram refused it: Forbidden: bot was blocked by the user")


async def serve(
    tell: Connection, url: str, port: int, prefix: str, offline: bool, private: bool, mortal: bool
) -> None:
    data = Path(urlsplit(url).path).parent
    configuration = Configuration.load(
        env={"HOME": "/nonexistent"}, database=url, data=data, fetch_private=private
    )
    settings = Settings(
        user_runners=20,
        lease_seconds=3 if mortal else 15,
        shutdown_grace_seconds=1,
        least_interval_seconds=1,
        timezone="Europe/Berlin",
    )
    with listening_socket("127.0.0.1", port) as listening:
        channels = [Stored("websocket"), Stored("telegram"), Refusing(), RecordingChannel("pushing")]
        agent = make_agent(configuration) if offline else PageAgent()
        kernel = Kernel(url, agent=agent, settings=settings, channels=channels)
        app = FastAPI() if prefix else create_app(kernel, configuration, manages_model=offline)
        if prefix:
            mount(app, kernel, prefix, configuration=configuration)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, ws_ping_interval=None)
        tell.send(listening.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[listening])


def run_server(tell: Connection, *options: Any) -> None:
    """Serve until a signal, and tell the port once it listens."""
    run(serve(tell, *options))
