"""A job fires between the moment a verb reads it and the moment the verb writes it.

Pausing, resuming, skipping and removing mean the same whatever the revision: they read the job again. An edit
conflicts only with another edit, and with the end of the job.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
import pytest_asyncio

from segue import Ask, At, Every, Job, JobState, Kernel
from segue.errors import Conflict
from segue.store import queries
from segue.store.database import Params, Rows
from segue.store.open import open_database
from segue.store.queries import Query
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.forwarding import ForwardingDatabase

CHAT = "web:1"
MINUTE = timedelta(minutes=1)


class ReadAndThen(ForwardingDatabase):
    """Lets something happen each time a job was read, as often as it is told to."""

    happens: Callable[[], Awaitable[object]]
    times = 0

    async def read(self, query: Query, params: Params) -> Rows:
        found = await super().read(query, params)
        if query is queries.jobs.by_id and self.times:
            self.times -= 1
            await self.happens()
        return found


class Scene:
    """Two kernels on one database: `asked` is given a verb while the timer of `other` fires."""

    def __init__(self, asked: Kernel, other: Kernel, database: ReadAndThen, clock: ManualClock) -> None:
        self.asked = asked
        self.other = other
        self.clock = clock
        self._database = database

    async def fires(self) -> None:
        self.clock.advance(MINUTE)
        await quiet(self.other)

    def before_write(self, happens: Callable[[], Awaitable[object]], *, times: int = 1) -> None:
        self._database.happens = happens
        self._database.times = times

    async def outcomes(self, job: Job) -> list[str]:
        """Of the job's runs, the oldest first."""
        return [str(run.outcome) for run in reversed(await self.other.runs.list(job=job.id))]


@pytest_asyncio.fixture(loop_scope="session")
async def scene(database_url: str) -> AsyncIterator[Scene]:
    database = ReadAndThen(await open_database(database_url))
    clock = ManualClock()
    async with (
        Kernel(database_url, agent=ScriptedAgent(), clock=clock, name="other") as other,
        Kernel(database, agent=ScriptedAgent(), clock=clock, name="asked") as asked,
    ):
        yield Scene(asked, other, database, clock)
        assert not await other.audit()
    await database.close()


@pytest.mark.parametrize("times", [1, 3])
async def test_a_pause_holds_though_the_job_fires_at_the_same_time(scene: Scene, times: int) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(scene.fires, times=times)
    paused = await scene.asked.jobs.pause(job.id, reason="not now")
    assert (paused.state, paused.state_reason, paused.next_at) == (JobState.PAUSED, "not now", None)
    await scene.fires()
    assert await scene.outcomes(job) == ["ok"] * times


async def test_a_skip_lets_the_slot_after_the_fired_one_go_by(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(scene.fires)
    await scene.asked.jobs.skip(job.id)
    await scene.fires()
    await scene.fires()
    assert await scene.outcomes(job) == ["ok", "skipped", "ok"]


async def test_a_removal_holds_though_the_job_fires_at_the_same_time(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(scene.fires)
    assert (await scene.asked.jobs.delete(job.id)).state is JobState.REMOVED
    await scene.fires()
    assert await scene.outcomes(job) == ["ok"]


async def test_one_that_fires_once_is_removed_after_it_fired(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, At(scene.clock.now() + MINUTE), Ask("Look."))
    scene.before_write(scene.fires)
    assert (await scene.asked.jobs.delete(job.id)).state is JobState.REMOVED
    assert await scene.outcomes(job) == ["ok"]


async def test_one_that_fires_once_cannot_be_paused_after_it_fired(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, At(scene.clock.now() + MINUTE), Ask("Look."))
    scene.before_write(scene.fires)
    with pytest.raises(Conflict, match="is ended; only an active one can be paused"):
        await scene.asked.jobs.pause(job.id)


async def test_a_resume_holds_though_the_job_is_renamed_at_the_same_time(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    await scene.other.jobs.pause(job.id)
    scene.before_write(lambda: scene.other.jobs.update(job.id, name="Another name"))
    resumed = await scene.asked.jobs.resume(job.id)
    assert (resumed.state, resumed.name) == (JobState.ACTIVE, "Another name")
    await scene.fires()
    assert await scene.outcomes(job) == ["ok"]


async def test_a_job_that_changes_at_every_look_is_a_conflict_in_the_end(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(scene.fires, times=100)
    with pytest.raises(Conflict, match="was changed meanwhile; read it again"):
        await scene.asked.jobs.pause(job.id)
    scene.before_write(scene.fires, times=0)


async def test_an_edit_is_not_disturbed_by_a_run(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(scene.fires)
    edited = await scene.asked.jobs.update(job.id, name="Another name", trigger=Every(120))
    assert (edited.name, edited.state) == ("Another name", JobState.ACTIVE)
    await scene.fires()
    await scene.fires()
    assert await scene.outcomes(job) == ["ok", "ok"]


async def test_an_edit_conflicts_with_another_edit(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))
    scene.before_write(lambda: scene.other.jobs.update(job.id, trigger=Every(600)))
    with pytest.raises(Conflict, match="was changed meanwhile; read it again"):
        await scene.asked.jobs.update(job.id, trigger=Every(120))
    scene.clock.advance(minutes=5)
    await quiet(scene.other)
    assert await scene.outcomes(job) == [], "the edit that came first holds"


async def test_an_edit_of_one_that_has_just_fired_for_the_last_time_is_a_conflict(scene: Scene) -> None:
    job = await scene.other.schedule(CHAT, At(scene.clock.now() + MINUTE), Ask("Look."))
    scene.before_write(scene.fires)
    with pytest.raises(Conflict, match="was changed meanwhile; read it again"):
        await scene.asked.jobs.update(job.id, trigger=At(scene.clock.now() + timedelta(hours=1)))


@pytest.mark.new_connections
async def test_a_hundred_times_each_verb_runs_beside_the_timer(scene: Scene) -> None:
    """A verb and a timer at once, in whatever order the database lets them."""
    job = await scene.other.schedule(CHAT, Every(60), Ask("Look."))

    async def beside_the_timer(verb: Awaitable[Job]) -> JobState:
        scene.clock.advance(MINUTE)
        changed, _ = await asyncio.gather(verb, scene.other.workers.timer.step())
        return changed.state

    for _ in range(100):
        assert await beside_the_timer(scene.asked.jobs.skip(job.id)) is JobState.ACTIVE
        assert await beside_the_timer(scene.asked.jobs.pause(job.id)) is JobState.PAUSED
        assert await beside_the_timer(scene.asked.jobs.resume(job.id)) is JobState.ACTIVE
    assert await beside_the_timer(scene.asked.jobs.delete(job.id)) is JobState.REMOVED
    await quiet(scene.other)
