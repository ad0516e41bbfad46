# /// script
# dependencies = []
#
# [tool.field]
# title = "Segue"
# packages = ["segue"]
# stores = ["postgresql", "sqlite"]
# documentation = "docs/reference/python.md"
# also = ["streaming"]
# ///
"""Segue's kernel, embedded as in its own documentation, from this checkout."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import uvloop

from bench.field.program import STREAM, Job, Program, Record, serve, tokens
from bench.stock import stock
from segue import Ask, At, Kernel, OpenTurn, Settings


class Agent:
    """Does what a turn does for every peer. It reports its tools and has none: a turn that a crash interrupts
    is run again, and not ended as one that may have acted."""

    reports_tools = True

    def __init__(self, record: Record) -> None:
        self._record = record

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        if turn.text == STREAM:
            async for word in tokens():
                yield word
        else:
            await self._record.turn(turn.text)
            yield "ok"


class Segue(Program):
    at_once = 200

    async def open(self) -> None:
        capacity = self.options["capacity"]
        detection = self.options["detection_seconds"]
        chosen = {"lease_seconds": detection} if detection else {}
        settings = Settings(runners=capacity, user_runners=capacity, jobs_per_session=10_000, **chosen)
        self._kernel = await Kernel(self.store, agent=Agent(self.record), settings=settings).__aenter__()

    async def add(self, job: Job, at: float | None) -> None:
        key = f"websocket:{job.session}"
        if at is None:
            await self._kernel.receive(key, job.label)
        else:
            await self._kernel.schedule(key, At(datetime.fromtimestamp(at, UTC)), Ask(job.label))

    async def fill(self, count: int) -> None:
        await stock(self._kernel, count)

    async def work(self) -> None:
        self._running = asyncio.get_running_loop().create_task(self._kernel.run())

    async def listen(self) -> int:
        # Imported here: a process that serves nothing does not load a web server.
        from bench.field.http_server import listening
        from segue.server import create_app

        await self.work()
        return await listening(create_app(self._kernel))


if __name__ == "__main__":
    serve(Segue(), uvloop.new_event_loop)
