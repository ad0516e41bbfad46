"""What one version wrote and another cannot read."""

import json

import pytest

from segue import Ask, Every, Kernel, Policy
from segue.errors import SessionHasJobs
from segue.store import sql
from segue.store.database import Transaction
from segue.testing import ManualClock, quiet
from tests.flows.story import CHAT, outcomes


def write(job_id: str, column: str, value: str) -> Transaction[None]:
    changed = sql.translate("test.spoil", f"UPDATE jobs SET {column} = :value WHERE id = :id")
    yield changed, {"id": job_id, "value": value}


async def test_a_policy_with_a_field_from_a_newer_version_goes_on(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    newer = json.dumps({**Policy(retries=2).to_json(), "mood": "patient"})
    await kernel.store.commit(write, job.id, "policy", newer)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert (await kernel.job(job.id)).policy.retries == 2


async def test_one_job_that_cannot_be_read_does_not_hide_the_others(kernel: Kernel) -> None:
    spoilt = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    well = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    assert [job.id for job in await kernel.jobs(CHAT)] == [well.id]


async def test_a_session_with_a_job_that_cannot_be_read_can_still_be_deleted(kernel: Kernel) -> None:
    """9.1: it blocks as every other one, and goes when that is said."""
    spoilt = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    with pytest.raises(SessionHasJobs):
        await kernel.delete(CHAT)
    await kernel.delete(CHAT, with_jobs=True)
    assert await kernel.sessions() == []


async def test_a_recall_that_cannot_be_read_does_not_hide_its_session(kernel: Kernel) -> None:
    await kernel.write(CHAT, "user", "Hello.")
    spoilt = await kernel.set_recall(CHAT, "Read notes.md.", when="1h")
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    assert [(one.session.key, one.recall) for one in await kernel.overviews()] == [(CHAT, None)]
    assert (await kernel.recall(CHAT), await kernel.recalls(CHAT)) == (None, [])
