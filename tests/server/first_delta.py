"""Measures the time from a provider's first byte to the client, while 50 clients stream.

    python -m tests.server.first_delta [sqlite:///… | postgresql://…]

`segue serve` in a process of its own, with the default agent and a model that speaks OpenAI's wire format on
loopback. Each of the clients says something over its WebSocket, hears the answer to its end, rests a moment
and speaks again. The provider and the clients share this process and its clock; the time is from just before
the provider writes its first byte until the client has read its first delta. Begin is the time from the
client's words to that first byte: our way in, with the turn's two commits.
"""

import asyncio
import json
import os
import random
import re
import sys
import tempfile
from dataclasses import dataclass, field
from resource import RUSAGE_CHILDREN, getrusage
from statistics import quantiles
from time import perf_counter

from websockets.asyncio.client import connect

from segue.testing.scripted_provider import Line, ProviderRequest, ScriptedProvider
from segue.testing.wire_formats import Says, openai_chat

CLIENTS, TURNS = 50, 4
PIECES, PAUSE = 20, 0.05
REST = 20.0


@dataclass
class Times:
    said: dict[str, float] = field(default_factory=dict)
    first_byte: dict[str, float] = field(default_factory=dict)
    first_delta: dict[str, float] = field(default_factory=dict)


class Provider(ScriptedProvider):
    """Streams a fixed number of words at a fixed pace, and records the start times."""

    def __init__(self, times: Times) -> None:
        super().__init__()
        self._times = times

    async def _answer(
        self, asked: ProviderRequest, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        words = asked.body["messages"][-1]["content"]
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self._times.first_byte[words] = perf_counter()
        for piece in openai_chat(Says(["word "] * PIECES)):
            assert isinstance(piece, bytes)
            writer.write(head + b"%x\r\n%s\r\n" % (len(piece), piece))
            head = b""
            if b"word" in piece:
                await asyncio.sleep(PAUSE)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def talk(url: str, number: int, times: Times, rng: random.Random) -> None:
    session = f"web:{number}"
    async with connect(url, open_timeout=60) as socket:
        await socket.send(json.dumps({"type": "subscribe", "session": session, "after": 0}))
        await socket.recv()  # the error that the session does not exist yet
        for turn in range(TURNS):
            await asyncio.sleep(rng.uniform(0, REST))
            words = f"{number} {turn}"
            times.said[words] = perf_counter()
            await socket.send(json.dumps({"type": "message", "session": session, "content": words}))
            while (event := json.loads(await socket.recv()))["type"] != "session_sync":
                if event["type"] == "stream_delta":
                    times.first_delta.setdefault(words, perf_counter())


async def measure(database: str, folder: str) -> Times:
    times = Times()
    provider = Provider(times)
    async with provider.listening():
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")},
            "SEGUE_DATA": folder,
            "SEGUE_DATABASE": database,
            "SEGUE_USER_RUNNERS": str(CLIENTS),
            "SEGUE_MODEL": "openai-chat:double",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
        }
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "segue.cli.main", "serve", "--port", "0"),
            env=env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert server.stdout is not None
        try:
            found = re.search(r"http://(\S+)", (await server.stdout.readline()).decode())
            assert found is not None
            async with asyncio.TaskGroup() as crowd:
                for number in range(CLIENTS):
                    url = f"ws://{found[1]}/ws"
                    crowd.create_task(talk(url, number, times, random.Random(number)))
        finally:
            server.terminate()
            await server.communicate()
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/segue.db"
        times = asyncio.run(measure(database, folder))
    out = sys.stdout.write
    # The first turn of each session includes one-time loading.
    counted = [words for words in times.said if not words.endswith(" 0")]
    begin = [(times.first_byte[words] - times.said[words]) * 1000 for words in counted]
    way = [(times.first_delta[words] - times.first_byte[words]) * 1000 for words in counted]
    for name, figures in {"begin": begin, "first byte to first delta": way}.items():
        cuts = quantiles(figures, n=100)
        worst = max(figures)
        out(f"{name}: p50 {cuts[49]:.1f} ms, p90 {cuts[89]:.1f}, p99 {cuts[98]:.1f}, worst {worst:.1f}\n")
    spent = getrusage(RUSAGE_CHILDREN)
    processor = (spent.ru_utime + spent.ru_stime) / len(times.said) * 1000
    out(f"{len(counted)} turns of {CLIENTS} clients; processor time of the server: {processor:.1f} ms each\n")


if __name__ == "__main__":
    main()
