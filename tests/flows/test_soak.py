"""A compressed day: Python's memory and open descriptors stay flat while the same happens hour after hour.

Resident memory is reported and not asserted: what the C library returns to the system is not ours to say.
"""

import asyncio
import gc
import os
import sys
from contextlib import aclosing, suppress
from pathlib import Path

from segue import Ask, Every, Kernel, OpenTurn, Say, Settings
from segue.errors import RecallPending
from segue.testing import ManualClock, quiet
from tests.crash.figures import Record
from tests.crash.processes import LONG
from tests.flows.house import OpenKernel

MINUTES = 8 * 60 if LONG else 20
WARM_UP = MINUTES // 8
SESSIONS = 20
READERS = 5
CONNECTIONS = 10
"""How many more a pool of PostgreSQL may open when it needs them."""


def allocated_blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def answer(turn: OpenTurn) -> str:
    """Of the history it reads what a model would be given."""
    return f"I remember {len(await turn.history())} messages."


async def test_memory_and_descriptors_stay_flat_over_eight_hours(
    open_kernel: OpenKernel, clock: ManualClock, figure: Record
) -> None:
    kernel = await open_kernel(agent=answer, settings=Settings(runs_per_job=5, retention_days=1))
    keys = [f"web:{number}" for number in range(SESSIONS)]
    for key in keys:
        await kernel.schedule(key, Every(600), Ask("Look."))
        await kernel.schedule(key, Every(1_800), Say("Tea."))
    seen: dict[str, tuple[int, int, int]] = {}
    for minute in range(MINUTES):
        await a_minute(kernel, clock, minute, keys[minute % SESSIONS])
        if minute in (WARM_UP, MINUTES // 2, MINUTES - 1):
            name = ("after the warm-up", "in the middle", "at the end")[len(seen)]
            seen[name] = allocated_blocks(), descriptors(), resident_kb()
            figure(name, "{:,} blocks of memory, {} descriptors, {:,} kB resident".format(*seen[name]))
    (first_blocks, first_files, _), _, (last_blocks, last_files, _) = seen.values()
    assert last_files <= first_files + CONNECTIONS
    if LONG:
        assert last_blocks < first_blocks * 1.05


async def a_minute(kernel: Kernel, clock: ManualClock, minute: int, key: str) -> None:
    """A message that clients follow, a recall, and every hour a commit of each session and a pruning."""
    after = (await kernel.sessions.get(key)).last_seq
    async with asyncio.TaskGroup() as group:
        for _ in range(READERS):
            group.create_task(read_an_answer(kernel, key, after))
        await kernel.receive(key, f"What happened in minute {minute}?")
        await quiet(kernel)
    if minute % 5 == 0:
        with suppress(RecallPending):
            await kernel.recalls.add(key, "look again", when="in 3 minutes")
    if minute % 60 == 0:
        await kernel.memory.commit(key)
        await kernel.workers.pruner.step()
    clock.advance(minutes=1)
    await quiet(kernel)


async def read_an_answer(kernel: Kernel, key: str, after: int) -> None:
    async with aclosing(kernel.follow(key, after=after)) as live:
        async for one in live:
            if getattr(one, "type", "") == "stream_end":
                return
