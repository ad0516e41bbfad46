"""Runs a server with a test agent that streams a given number of pieces at a given pace.

    DATABASE_URL [--no-workers] [--keys JSON] [--lease SECONDS] [--descriptors N] [--port N]

It tells its port when it listens, and stops on SIGTERM as `segue serve` does.
"""

import argparse
import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import nullcontext
from multiprocessing.connection import Connection

from segue import Delta, Kernel, OpenTurn, Settings, Text, ToolCalled, ToolStarted, Usage
from segue.cli.support.event_loop import run
from segue.cli.support.http_server import HttpServer, listening_socket
from segue.cli.support.signals import stop_signals
from segue.config import Configuration
from segue.server import create_app
from tests.server.script import pieces_of


class PacedAgent:
    """For the message `LENGTH PAUSE_MS` it streams that many pieces with that pause between them."""

    reports_tools = True

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        length, pause = (int(word) for word in turn.text.split()[:2])
        for number, piece in enumerate(pieces_of(turn.text, length)):
            if number == length // 2:
                yield ToolStarted(call_id="1", name="look", arguments={"at": "it"})
                yield ToolCalled(call_id="1", name="look", result="seen", arguments={"at": "it"})
            yield Text(piece)
            await asyncio.sleep(pause / 1000)
        yield Usage({"output_tokens": length})


async def serve(
    tell: Connection, url: str, *, workers: bool, keys: str | None, lease: float, port: int
) -> None:
    env = {"SEGUE_API_KEYS": keys} if keys else {}
    configuration = Configuration.load(env={"HOME": "/nonexistent", **env}, database=url)
    settings = Settings(user_runners=100, shutdown_grace_seconds=5, lease_seconds=lease)
    with stop_signals() as signals, listening_socket("127.0.0.1", port) as listening:
        kernel = Kernel(url, agent=PacedAgent(), settings=settings)
        # The app runs the workers of a kernel that it opens itself.
        async with nullcontext() if workers else kernel, asyncio.TaskGroup() as group:
            server = HttpServer(create_app(kernel, configuration))
            group.create_task(server.serve([listening]))
            await server.ready.wait()
            tell.send(listening.getsockname()[1])
            await signals.stop_requested.wait()
            server.should_exit = True


def run_server(tell: Connection, *arguments: str) -> None:
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("--no-workers", dest="workers", action="store_false")
    options.add_argument("--keys")
    options.add_argument("--lease", type=float, default=15)
    options.add_argument("--port", type=int, default=0, help="default: any free one")
    options.add_argument("--descriptors", type=int, help="how many files and connections it may have open")
    given = vars(options.parse_args(arguments))
    if (most := given.pop("descriptors")) is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    run(serve(tell, **given))
