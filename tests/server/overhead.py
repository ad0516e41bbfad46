"""What a turn over HTTP costs us, the model excluded: its agent answers at once.

    python -m tests.server.overhead [sqlite:///… | postgresql://…]

A real server in this process's own loop and a real client in another process; the figures are the processor
time of the server for each turn, the time a caller waits, and where that time goes.
"""

import asyncio
import cProfile
import io
import pstats
import socket
import sys
import tempfile
import time
from statistics import quantiles

import uvicorn

from segue import Kernel, OpenTurn
from segue.configuration import Configuration
from segue.server import create_app

TURNS = 500

CLIENT = """
import asyncio, sys, time, httpx2
async def main(port, turns):
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        for n in range(turns + 50):
            began = time.perf_counter()
            said = await http.post("/sessions/web:1/turns?wait=30", json={"content": "Hi"})
            assert said.json()["reply"] == "Hello."
            if n >= 50:
                print((time.perf_counter() - began) * 1000)
asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
"""


async def agent(turn: OpenTurn) -> str:
    return "Hello."


async def measure(url: str, profile: cProfile.Profile | None) -> tuple[float, list[float]]:
    listening = socket.create_server(("127.0.0.1", 0))
    async with Kernel(url, agent=agent) as kernel:
        app = create_app(kernel, Configuration(), run_workers=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[listening]))
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CLIENT, str(listening.getsockname()[1]), str(TURNS)),
                stdout=asyncio.subprocess.PIPE,
            )
            began = time.process_time()
            if profile:
                profile.enable()
            said, _ = await client.communicate()
            if profile:
                profile.disable()
            spent = (time.process_time() - began) / (TURNS + 50) * 1000
            server.should_exit = True
    return spent, [float(line) for line in said.split()]


async def measure_without(url: str) -> float:
    """The same turns by the kernel's own verbs: what is left of the cost is the server's."""
    async with Kernel(url, agent=agent) as kernel, asyncio.TaskGroup() as tasks:
        working = tasks.create_task(kernel.run())
        began = time.process_time()
        for _ in range(TURNS):
            await kernel.wait((await kernel.receive("web:2", "Hi")).turn_id)
        spent = (time.process_time() - began) / TURNS * 1000
        working.cancel()
    return spent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/segue.db"
        spent, waited = asyncio.run(measure(url, None))
        cuts = quantiles(waited, n=100)
        out = sys.stdout.write
        alone = asyncio.run(measure_without(url))
        out(f"processor time for a turn: {spent:.2f} ms, of that the kernel {alone:.2f} ms\n")
        out(f"a caller waits: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms\n")
        profile = cProfile.Profile()
        asyncio.run(measure(url, profile))
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats("cumulative").print_stats(60)
        out(text.getvalue())


if __name__ == "__main__":
    main()
