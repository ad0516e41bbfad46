"""kill -9 at four points of a recall's life: set, claimed, running, before its end is written.

Whatever the point, the recall fires once, or ends visibly: one run, one trigger and one closure in the
session, and no tool that ran twice.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from segue.kernel.kernel import Kernel
from segue.model.records import Run
from segue.model.states import Outcome, RecallStatus
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.kill_switch import Point
from tests.crash.processes import Processes, first_run, over, processes, running
from tests.eventually import eventually

KEY = "web:1"

RUN_ONCE = (Outcome.OK, 1, "fired")
RUN_AGAIN = (Outcome.OK, 2, "fired")
CLOSED = (Outcome.INTERRUPTED, 1, "cancelled")

_SETS_ONE_AND_WAITS = """
import asyncio, sys
from segue import Kernel
from tests.eventually import eventually

async def no_agent(turn):
    raise AssertionError("no agent runs here")

async def main():
    async with Kernel(sys.argv[1], agent=no_agent) as kernel:
        await kernel.log.write("web:1", "user", "Watch the build.")
        await kernel.recalls.add("web:1", "tool", when="1s")
        print("set", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def one_end(kernel: Kernel, doomed: Processes) -> tuple[Outcome | None, int, str]:
    [recall] = await kernel.recalls.list(KEY)
    run = await first_run(kernel, recall.id)
    assert run.turn_id is not None
    await over(kernel, run.turn_id)
    [run] = await kernel.runs.list(job=recall.id)
    messages = [message for message in await kernel.messages(KEY) if message.source is not None]
    assert [message.role for message in messages] == ["user", "assistant"], "one trigger, one closure"
    entries = doomed.journal.entries()
    assert not fences_out_of_order(entries)
    assert not overlaps(entries)
    assert len([entry for entry in entries if entry.did is Did.ACTED]) == 1, "a tool ran twice, or never"
    assert not await kernel.audit()
    [recall] = await kernel.recalls.list(KEY)
    return run.outcome, run.attempt, str(recall.status)


async def test_the_process_that_has_set_it_is_killed(database_url: str, tmp_path: Path) -> None:
    """C10.1."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SETS_ONE_AND_WAITS, database_url, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"set\n"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    async with (
        processes(database_url, tmp_path) as doomed,
        doomed.successor() as kernel,
        running(kernel),
    ):
        assert await one_end(kernel, doomed) == RUN_ONCE


async def test_the_process_that_has_claimed_it_is_killed(database_url: str, tmp_path: Path) -> None:
    """C4.5: the slot is taken and the turn waits in the lane; the claim is not lost with the process."""
    async with processes(database_url, tmp_path) as doomed, doomed.successor() as kernel:
        worker = doomed.start(runners=0, user_runners=0)
        await doomed.ready(worker)
        run = await _called_back(kernel)
        assert (run.state, run.outcome) == ("queued", None)
        await worker.kill()
        waiting = await kernel.recalls.get(KEY)
        assert waiting is not None
        assert waiting.status is RecallStatus.PENDING
        async with running(kernel):
            assert await one_end(kernel, doomed) == RUN_ONCE


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (Point.AFTER_THE_CLAIM_COMMITS, RUN_AGAIN),
        (Point.AFTER_THE_FIRST_WORD, RUN_AGAIN),
        (Point.WHILE_THE_TOOL_RUNS, CLOSED),
        (Point.BEFORE_THE_END, CLOSED),
        (Point.INSIDE_THE_END, CLOSED),
        (Point.AFTER_THE_END_COMMITS, RUN_ONCE),
    ],
)
async def test_the_process_that_runs_it_is_killed(
    database_url: str, tmp_path: Path, point: Point, expected: tuple[Outcome, int, str]
) -> None:
    """C10.2: once more if it can have done nothing yet, and the record says so; else a visible end."""
    async with processes(database_url, tmp_path) as doomed, doomed.successor() as kernel:
        worker = doomed.start(point=point)
        await doomed.ready(worker)
        await _called_back(kernel)
        assert await worker.death() == -9
        async with running(kernel):
            assert await one_end(kernel, doomed) == expected


async def test_a_recall_that_is_set_sooner_wakes_a_worker_in_another_process(
    database_url: str, tmp_path: Path
) -> None:
    """C4.4: it would sleep until tomorrow, and no process rings its bell."""
    async with processes(database_url, tmp_path) as works, works.successor() as kernel:
        for key in ("web:late", KEY):
            await kernel.log.write(key, "user", "Watch the build.")
        await kernel.recalls.add("web:late", "tool", when="1 day")
        worker = works.start()
        await works.ready(worker)
        await kernel.recalls.add(KEY, "tool", when="2s")
        await eventually(lambda: bool(works.journal.entries(Did.ACTED)), "it acts")
        [run] = await kernel.runs.list(KEY)
        assert run.lateness_ms >= 0, "and not before its time"
        assert (await kernel.recalls.list("web:late"))[0].status == "pending"


async def _called_back(kernel: Kernel) -> Run:
    """The run of a recall that is due at once, once a worker has claimed it."""
    await kernel.log.write(KEY, "user", "Watch the build.")
    recall = await kernel.recalls.add(KEY, "tool", call_type="immediate")
    return await first_run(kernel, recall.id)
