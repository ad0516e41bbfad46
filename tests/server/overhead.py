"""Measures the cost of a turn over HTTP without a model: the agent answers at once.

    python -m tests.server.overhead [sqlite:///… | postgresql://…]

A server as `segue serve` runs it, in this process's own loop, and a real client in another process. The
figures are the processor time of this process for each turn, of all its threads; they hold on a busy machine
too, which the time that a caller waits does not. The first turns, in which things are loaded, do not count.
Rounds of the server and of the kernel alone take turns, and the profile is one of the loop's thread.
"""

import asyncio
import cProfile
import io
import pstats
import sys
import tempfile
import time
from collections.abc import Coroutine
from statistics import median, quantiles
from typing import Any, TypeVar

from segue import Kernel, OpenTurn
from segue.cli.support.event_loop import run
from segue.cli.support.http_server import HttpServer, listening_socket
from segue.server import create_app

WARM, TURNS, ROUNDS = 50, 300, 5

T = TypeVar("T")

CLIENT = """
import asyncio, sys, time, httpx2
async def main(port, warm, turns):
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        async def say():
            began = time.perf_counter()
            said = await http.post("/sessions/web:1/turns?wait=30", json={"content": "Hi"})
            assert said.json()["reply"] == "Hello."
            return (time.perf_counter() - began) * 1000
        for _ in range(warm):
            await say()
        print("warm", flush=True)
        sys.stdin.readline()
        for _ in range(turns):
            print(await say())
asyncio.run(main(*map(int, sys.argv[1:])))
"""


async def agent(turn: OpenTurn) -> str:
    return "Hello."


async def measure(url: str, profile: cProfile.Profile | None = None) -> tuple[float, list[float]]:
    """Processor time per turn in milliseconds, and the wait of each caller."""
    with listening_socket("127.0.0.1", 0) as listening:
        async with asyncio.TaskGroup() as tasks:
            server = HttpServer(create_app(Kernel(url, agent=agent)))
            tasks.create_task(server.serve([listening]))
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CLIENT, str(listening.getsockname()[1]), str(WARM), str(TURNS)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            assert client.stdout is not None
            await client.stdout.readline()
            began = time.process_time()
            if profile:
                profile.enable()
            said, _ = await client.communicate(b"go\n")
            if profile:
                profile.disable()
            spent = (time.process_time() - began) / TURNS * 1000
            server.should_exit = True
    return spent, [float(line) for line in said.split()]


async def measure_without(url: str) -> float:
    """The same turns through the kernel only: the difference is the cost of the server."""
    async with Kernel(url, agent=agent) as kernel, asyncio.TaskGroup() as tasks:
        working = tasks.create_task(kernel.run())
        began = 0.0
        for number in range(WARM + TURNS):
            if number == WARM:
                began = time.process_time()
            await kernel.wait(await kernel.receive("web:2", "Hi"))
        spent = (time.process_time() - began) / TURNS * 1000
        working.cancel()
    return spent


def done(work: Coroutine[Any, Any, T]) -> T:
    """Run on the event loop of `segue serve`."""
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    run(keep())
    return results[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/segue.db"
        served, alone, waited = [], [], []
        for _ in range(ROUNDS):
            spent, waits = done(measure(url))
            served.append(spent)
            alone.append(done(measure_without(url)))
            waited += waits
        out = sys.stdout.write
        out(
            f"processor time for a turn: {median(served):.2f} ms, of that the kernel {median(alone):.2f} ms\n"
        )
        cuts = quantiles(waited, n=100)
        out(f"a caller waits: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms\n")
        profile = cProfile.Profile()
        done(measure(url, profile))
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(60)
        out(text.getvalue())


if __name__ == "__main__":
    main()
