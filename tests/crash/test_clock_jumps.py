"""The clock of one machine jumps by an hour, forward and back, and drifts, under libfaketime.

PostgreSQL's clock decides: no job fires early or twice, no lease is stolen, and no timer stands still.
"""

from collections import Counter
from pathlib import Path

import pytest

from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.states import Outcome
from segue.times.trigger import Every
from tests.crash.figures import Record
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.processes import LONG, processes
from tests.eventually import eventually
from tests.unavailable import cannot_run

JOBS = 6
RUNS = 10
"""Of each job, on each of these clocks."""
CLOCKS = ("+0", "+3600", "-3600", "+0 x1.0002")
EARLY_MS = 1000

pytestmark = pytest.mark.skipif(not LONG, reason="needs a package of Debian's: `make faults` runs it")


def _library() -> Path:
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        cannot_run("a jumping clock needs libfaketime: apt-get install faketime")
    return found[0]


@pytest.mark.serial
async def test_a_clock_that_jumps_fires_nothing_early_or_twice(
    migrated_postgres_url: str, tmp_path: Path, figure: Record
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    faked = {"LD_PRELOAD": str(_library()), "FAKETIME_TIMESTAMP_FILE": str(clock)}
    faked |= {"FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    async with (
        processes(migrated_postgres_url, tmp_path, lease=15.0) as several,
        several.successor("door") as kernel,
    ):
        workers = [several.start(runners=3), several.start(runners=3), several.start(runners=3, env=faked)]
        await several.ready(*workers)
        jobs = [(await kernel.schedule(f"web:{n}", Every(1), Ask("work 20"))).id for n in range(JOBS)]
        for number, offset in enumerate(CLOCKS, start=1):
            clock.write_text(offset)
            await _all_run(kernel, jobs, number * RUNS)
        entries = several.journal.entries()
        assert workers[2].pid in {entry.pid for entry in entries if entry.did is Did.ENDED}
        runs = [run for job in jobs for run in await kernel.runs.list(job=job, limit=1000) if run.started_at]
        assert max(Counter((run.job_id, run.slot) for run in runs).values()) == 1
        assert {run.outcome for run in runs} <= {Outcome.OK, None}
        assert min((run.started_at or 0) - run.slot for run in runs) > -EARLY_MS
        started = Counter(entry.turn for entry in entries if entry.did is Did.STARTED)
        assert set(started.values()) == {1}, "a lease was stolen"
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
        assert not await kernel.audit()
    latest = max(run.lateness_ms for run in runs)
    figure(f"{len(runs)} runs on four clocks: early, twice, latest", f"0, 0, {latest / 1000:.1f} s")


async def _all_run(kernel: Kernel, jobs: list[str], times: int) -> None:
    async def have_run() -> bool:
        ended = [
            sum(r.outcome is not None for r in await kernel.runs.list(job=job, limit=1000)) for job in jobs
        ]
        return min(ended) >= times

    await eventually(have_run, f"each job has run {times} times", every=0.2)
