"""An idle process: opens a database and waits. `python -m bench.idle URL SECONDS`.

It prints the seconds until its workers have first looked for work, the share of a core while nothing is due,
and its memory.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

import psutil  # type: ignore[import-untyped]

from bench.measure import stopwatch
from segue import Kernel
from segue.model.agent import OpenTurn

SETTLING_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    start_seconds: float
    cpu_percent: float
    memory_mb: float


def idle(url: str, seconds: float) -> Idle:
    """Measured in a separate process."""
    command = [sys.executable, "-m", "bench.idle", url, str(seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Idle(**json.loads(done.stdout))


async def _wait(url: str, seconds: float) -> Idle:
    with stopwatch() as starting:
        kernel = await Kernel(url, agent=_agent).__aenter__()
        await kernel.workers.timer.step()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await asyncio.sleep(SETTLING_SECONDS)
        with stopwatch() as waiting:
            await asyncio.sleep(seconds)
        running.cancel()
    await kernel.__aexit__(None, None, None)
    return Idle(
        start_seconds=starting.seconds,
        cpu_percent=100 * waiting.cpu / waiting.seconds,
        memory_mb=psutil.Process().memory_info().rss / 1_000_000,
    )


async def _agent(turn: OpenTurn) -> AsyncIterator[str]:
    yield ""


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_wait(sys.argv[1], float(sys.argv[2]))))))
