"""The time zone database changes between two processes: a job keeps its time on the wall clock."""

import os
import subprocess
import sys
from pathlib import Path
from zoneinfo import TZPATH

import pytest

from tests.docs.pages import ROOT
from tests.unavailable import cannot_run

JOB = """
import asyncio, sys
from datetime import UTC, datetime
from segue import Ask, Cron, Kernel
from segue.testing import ManualClock, ScriptedAgent, quiet

async def main(url, act):
    clock = ManualClock(datetime(2026, 1, 10, 12, tzinfo=UTC))
    async with Kernel(url, agent=ScriptedAgent(), clock=clock) as kernel:
        if act == "schedule":
            await kernel.schedule("web:1", Cron("0 9 * * *", tz="Europe/Berlin"), Ask("Good morning."))
            return
        for _ in range(48):
            clock.advance(hours=1)
            await quiet(kernel)
        for run in await kernel.runs.list("web:1"):
            print(datetime.fromtimestamp(run.slot / 1000, UTC).isoformat())

asyncio.run(main(*sys.argv[1:]))
"""


def rules(folder: Path, like: str) -> str:
    """A database in which Berlin has the rules of another zone."""
    found = next((Path(part, like) for part in TZPATH if Path(part, like).exists()), None)
    if found is None:
        cannot_run("this machine has no time zone database of its own")
    (folder / like / "Europe").mkdir(parents=True)
    (folder / like / "Europe" / "Berlin").write_bytes(found.read_bytes())
    return str(folder / like)


def run(url: str, act: str, zones: str) -> list[str]:
    env = {**os.environ, "PYTHONTZPATH": zones}
    done = subprocess.run(
        [sys.executable, "-c", JOB, url, act], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("like", "fired"),
    [
        ("Europe/London", ["2026-01-12T09:00:00+00:00", "2026-01-11T09:00:00+00:00"]),
        ("Europe/Athens", ["2026-01-12T07:00:00+00:00", "2026-01-11T08:00:00+00:00"]),
    ],
    ids=["later", "earlier"],
)
def test_a_daily_job_fires_once_a_day_through_a_change_of_rules(
    tmp_path: Path, like: str, fired: list[str]
) -> None:
    """Where nine o'clock comes earlier than it did, the slot that was stored is late, once."""
    url = f"sqlite:///{tmp_path}/segue.db"
    run(url, "schedule", rules(tmp_path / "old", "Europe/Berlin"))
    assert run(url, "work", rules(tmp_path / "new", like)) == fired
