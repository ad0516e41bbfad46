"""What one version wrote and another cannot read."""

import json

import pytest

from segue import Ask, Busy, Every, Job, Kernel, Policy, Say
from segue.errors import SessionHasJobs
from segue.kernel.transactions.guards import unreadable
from segue.model.states import JobState, TurnState
from segue.store import queries
from segue.store.database import Transaction
from segue.testing import ManualClock, RecordingChannel, quiet
from tests.flows.story import CHAT, log, outcomes, said


def write(
    row_id: str, column: str, value: str | None, *, table: str = "jobs", key: str = "id"
) -> Transaction[None]:
    changed = queries.translate("test.spoil", f"UPDATE {table} SET {column} = :value WHERE {key} = :id")
    yield changed, {"id": row_id, "value": value}


async def written_by_a_newer(kernel: Kernel, job: Job, **fields: object) -> None:
    newer = json.dumps({**Policy(retries=2).to_json(), **fields})
    await kernel.store.commit(write, job.id, "policy", newer)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"quiet_hours": "22-7"}, "quiet_hours='22-7'"),
        ({"busy": "ask_first"}, "busy='ask_first'"),
        ({"late": "vote", "crash": 7}, "late='vote', crash=7"),
    ],
)
async def test_a_job_with_a_guard_that_cannot_be_read_is_paused_and_says_which(
    kernel: Kernel, clock: ManualClock, fields: dict[str, object], told: str
) -> None:
    """An older worker must not run what a newer guard may forbid."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await written_by_a_newer(kernel, job, **fields)
    assert told in (await kernel.jobs.explain(job.id)).text
    before = (await log(kernel)).count("automation_update")
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == []
    [paused] = await kernel.jobs.list(CHAT, ended=True)
    reason = f"its policy has {told}, which this version of Segue cannot read; "
    assert paused.state is JobState.PAUSED
    assert (paused.state_reason or "").startswith(reason)
    assert (await log(kernel)).count("automation_update") == before + 1
    explained = await kernel.jobs.explain(job.id)
    assert explained.verdict == "paused"
    assert reason in explained.text
    assert "Resume it" not in explained.text


async def test_what_cannot_be_read_is_written_back_as_it_is(kernel: Kernel, clock: ManualClock) -> None:
    """A newer worker finds its guard, whatever an older one changed; and a job that is resumed is paused."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await written_by_a_newer(kernel, job, quiet_hours="22-7", busy="ask_first")
    await kernel.jobs.pause(job.id)
    await kernel.jobs.update(job.id, name="another name")
    await kernel.jobs.resume(job.id)
    clock.advance(minutes=1)
    await quiet(kernel)
    there = await kernel.jobs.get(job.id)
    assert (there.state, there.name, there.policy.retries) == (JobState.PAUSED, "another name", 2)
    assert there.policy.to_json() == {
        **Policy(retries=2).to_json(),
        "quiet_hours": "22-7",
        "busy": "ask_first",
    }


async def test_another_policy_sets_it_going_again(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await written_by_a_newer(kernel, job, quiet_hours="22-7", busy="ask_first")
    clock.advance(minutes=1)
    await quiet(kernel)
    there = (await kernel.jobs.get(job.id)).policy
    half = there.changed({"busy": "skip"})
    assert (half.busy, half.retries, half.to_json()["quiet_hours"]) == (Busy.SKIP, 2, "22-7")
    assert half.unreadable is not None
    await kernel.jobs.update(job.id, policy=half.changed({"quiet_hours": None}))
    await kernel.jobs.resume(job.id)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_field_without_a_value_is_no_guard(kernel: Kernel, clock: ManualClock) -> None:
    """A newer version writes its new field with every policy."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await written_by_a_newer(kernel, job, quiet_hours=None)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_policy_that_is_none_at_all_pauses_its_job(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(write, job.id, "policy", "[]")
    clock.advance(minutes=1)
    await quiet(kernel)
    await kernel.store.commit(write, job.id, "policy", "{}")
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, paused.state_reason) == (
        JobState.PAUSED,
        "cannot be read: a stored policy is an object, got []",
    )


async def test_one_job_that_cannot_be_read_does_not_hide_the_others(kernel: Kernel) -> None:
    spoilt = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    well = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    assert [job.id for job in await kernel.jobs.list(CHAT, ended=True)] == [well.id]


async def test_a_session_with_a_job_that_cannot_be_read_can_still_be_deleted(kernel: Kernel) -> None:
    """9.1: it blocks as every other one, and goes when that is said."""
    spoilt = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    with pytest.raises(SessionHasJobs):
        await kernel.sessions.delete(CHAT)
    await kernel.sessions.delete(CHAT, with_jobs=True)
    assert await kernel.sessions.list() == []


async def test_a_recall_that_cannot_be_read_does_not_hide_its_session(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "Hello.")
    spoilt = await kernel.recalls.add(CHAT, "Read notes.md.", when="1h")
    await kernel.store.commit(write, spoilt.id, "trigger", "{}")
    assert [(one.session.key, one.recall) for one in await kernel.sessions.overviews()] == [(CHAT, None)]
    assert (await kernel.recalls.get(CHAT), await kernel.recalls.list(CHAT)) == (None, [])


NEWER_SOURCE = json.dumps({"kind": "cron", "job_id": "j", "label": "l", "run_id": "r", "colour": "red"})


@pytest.mark.parametrize(
    ("table", "key", "column", "value"),
    [("turns", "session_id", "source", NEWER_SOURCE), ("sessions", "id", "metadata", "{")],
)
async def test_a_lane_that_cannot_be_read_holds_up_no_other_and_is_tried_again(
    kernel: Kernel, clock: ManualClock, table: str, key: str, column: str, value: str
) -> None:
    """A newer worker may read it. Until then its turn waits, and counts no attempt."""
    turn = await kernel.receive("web:newer", "Hello.")
    await kernel.receive("web:newer", "Are you there?")
    await kernel.receive(CHAT, "Hi.")
    await kernel.store.commit(write, turn.session_id, column, value, table=table, key=key)
    assert await kernel.workers.user_runner.step() == 1
    assert [role for role, _ in await said(kernel)] == ["user", "assistant"]
    assert await kernel.workers.user_runner.step() == 0
    assert not await kernel.audit()

    readable = "{}" if table == "sessions" else None
    await kernel.store.commit(write, turn.session_id, column, readable, table=table, key=key)
    assert await kernel.workers.user_runner.step() == 0
    clock.advance(milliseconds=unreadable.PAUSE_MS)
    await quiet(kernel)
    ended = await kernel.turns.get(turn.turn_id)
    assert (ended.state, ended.attempt) == (TurnState.DONE, 1)
    assert [text for role, text in await said(kernel, "web:newer") if role == "user"] == [
        "Hello.",
        "Are you there?",
    ]
    seqs = [event.seq for event in await kernel.log.events("web:newer", limit=1000)]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_delivery_that_cannot_be_read_holds_up_no_other_and_is_tried_again(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    for key in ("test:1", "test:2"):
        await kernel.schedule(key, Every(60), Say(f"Hello {key}."))
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    [newer] = await kernel.log.deliveries("test:1")
    kept = queries.translate("test.source", "SELECT source FROM deliveries WHERE id = :id")
    source = (await kernel.store.database.read(kept, {"id": newer.id}))[0]["source"]
    await kernel.store.commit(write, newer.id, "source", NEWER_SOURCE, table="deliveries")
    assert await kernel.workers.courier.step() == 1
    assert channel.texts == ["Hello test:2."]
    await kernel.store.commit(write, newer.id, "source", source, table="deliveries")
    assert await kernel.workers.courier.step() == 0
    clock.advance(milliseconds=unreadable.PAUSE_MS)
    assert await kernel.workers.courier.step() == 1
    [sent] = await kernel.log.deliveries("test:1")
    assert (channel.texts[1:], sent.state, sent.attempt) == (["Hello test:1."], "sent", 1)
