"""Rolling upgrade on PostgreSQL: workers of two versions share the jobs that the older one has stored.

The migrator does not wait for old workers and does not stop them. A migration only adds, so a worker that has
already opened the database goes on; a process of the old version that starts later is refused.
"""

import asyncio
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from segue.kernel.kernel import Kernel
from segue.model.states import Outcome
from segue.store.migrate import MIGRATIONS, load, migrate
from segue.store.open import connect
from segue.store.queries import translate
from tests.crash.figures import Record
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.processes import LONG, processes
from tests.docs.pages import ROOT
from tests.eventually import eventually

OLD = "d42a78851798a60149054612e93606136f53c13c"
JOBS = 10_000 if LONG else 60
SESSIONS = 1_000 if LONG else 30
AT_ONCE = 50
DRAIN_SECONDS = 600.0

_OUTCOMES = translate("test.outcomes", "SELECT outcome, COUNT(*) AS runs FROM runs_told GROUP BY outcome")
WORK_MS = 1 if LONG else 30

STORE_JOBS = f"""
import asyncio, sys
from segue import Ask, At, Kernel

async def agent(turn):
    return ""

async def main():
    async with Kernel(sys.argv[1], agent=agent) as kernel:
        for first in range(0, {JOBS}, {AT_ONCE}):
            await asyncio.gather(*(
                kernel.schedule(f"web:{{n % {SESSIONS}}}", At("in 1 second"), Ask("work {WORK_MS}"))
                for n in range(first, min(first + {AT_ONCE}, {JOBS}))
            ))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the older version."""
    folder = tmp_path_factory.mktemp("old")
    archive = subprocess.run(["git", "archive", OLD, "src", "tests"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        pytest.skip(f"the upgrade begins at commit {OLD}, and this checkout is without its history")
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
    return folder


def newer_migrations(folder: Path) -> Path:
    """The migrations of this version and one more, as the next version may bring."""
    known = load(MIGRATIONS)
    for each in known:
        (folder / f"{each.name}.sql").write_text(each.text, "utf-8")
    addition = "ALTER TABLE turns ADD COLUMN of_the_next_version TEXT;"
    (folder / f"{len(known) + 1:04}_next.sql").write_text(addition)
    return folder


async def store_jobs(url: str, source: Path) -> None:
    env = {"PYTHONPATH": str(source / "src")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STORE_JOBS, url, env=env, cwd=source, stderr=asyncio.subprocess.PIPE
    )
    _, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()


@pytest.mark.serial
async def test_workers_of_two_versions_share_the_jobs_of_the_older_one(
    postgres_url: str, old: Path, tmp_path: Path, figure: Record
) -> None:
    await store_jobs(postgres_url, old)
    async with processes(postgres_url, tmp_path, lease=15.0) as both:
        go = both.gate()
        old_worker = both.start(source=old, runners=4, go=go)
        await both.ready(old_worker)
        new_worker = both.start(runners=4, go=go)  # it migrates the database
        await both.ready(new_worker)
        async with both.successor("door") as kernel:
            go.touch()
            pids = {old_worker.pid, new_worker.pid}
            await eventually(
                lambda: pids <= {entry.pid for entry in both.journal.entries(Did.STARTED)},
                "both versions work",
            )
            await migrate_further(postgres_url, tmp_path)
            await eventually(partial(all_have_ended, kernel), "all jobs have run", within=DRAIN_SECONDS)
            assert await ends(kernel) == {Outcome.OK: JOBS}
            assert not await kernel.audit()
        assert not old_worker.has_ended()
        assert not new_worker.has_ended()
        late = both.start(source=old, listen=True)
        assert await late.death() != 0
        assert "a newer Segue wrote it" in late.complaint
        started = both.journal.entries(Did.STARTED)
        assert set(Counter(entry.turn for entry in started).values()) == {1}
        assert not overlaps(both.journal.entries())
        assert not fences_out_of_order(both.journal.entries())
    by_old = sum(entry.pid == old_worker.pid for entry in started)
    figure("jobs, of which run by the old version, lost, run twice", f"{JOBS}, {by_old}, 0, 0")


async def migrate_further(url: str, folder: Path) -> None:
    """Apply a migration of a version to come, while the workers run."""
    made = folder / "migrations"
    made.mkdir()
    database = await connect(url)
    try:
        assert len(await migrate(database, newer_migrations(made))) == 1
    finally:
        await database.close()


async def ends(kernel: Kernel) -> Counter[str | None]:
    """How many runs have which outcome. A job has one run."""
    rows = await kernel.store.database.read(_OUTCOMES, {})
    return Counter({row["outcome"]: row["runs"] for row in rows})


async def all_have_ended(kernel: Kernel) -> bool:
    found = await ends(kernel)
    return found[None] == 0 and found.total() >= JOBS
