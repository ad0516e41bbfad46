"""A worker process of the benchmark: `python -m bench.worker DATABASE_URL`.

It says `ready`, runs turns from the first line on its input to the end of the input, and prints how many it
had and when the last one ended, by the monotonic clock.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from time import monotonic

from segue import Kernel, OpenTurn, Settings
from segue.cli.support import event_loop

RUNNERS = 50


class Counting:
    reports_tools = True

    def __init__(self) -> None:
        self.turns = 0
        self.last = 0.0

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        yield "ok"
        self.turns += 1
        self.last = monotonic()


async def work(url: str) -> None:
    agent = Counting()
    async with Kernel(url, agent=agent, settings=Settings(user_runners=RUNNERS, runners=RUNNERS)) as kernel:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await asyncio.to_thread(sys.stdin.read)
            running.cancel()
    print(agent.turns, agent.last, flush=True)


if __name__ == "__main__":
    event_loop.run(work(sys.argv[1]))
