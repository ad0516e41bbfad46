"""How often a request reads the database: the owner is checked once, and what was loaded is passed on."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest_asyncio

from segue import Ask, Every, Job, Kernel
from segue.config import Configuration
from segue.server import create_app
from segue.store.database import Params, Rows
from segue.store.open import open_database
from segue.store.queries import Query
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.forwarding import ForwardingDatabase
from tests.flows.story import under_way
from tests.server.conftest import reach

CHAT = "web:1"


class CountingDatabase(ForwardingDatabase):
    """Notes the name of each query that is read outside of a transaction."""

    reads: list[str]

    async def read(self, query: Query, params: Params) -> Rows:
        self.reads.append(query.name)
        return await super().read(query, params)


class Scene:
    def __init__(self, database: CountingDatabase, kernel: Kernel, http: httpx2.AsyncClient) -> None:
        self._database = database
        self.kernel = kernel
        self._http = http

    async def reads_of(self, method: str, path: str, body: dict[str, Any] | None = None) -> list[str]:
        self._database.reads = []
        answer = await self._http.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        return self._database.reads


@pytest_asyncio.fixture(loop_scope="session")
async def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture(loop_scope="session")
async def scene(database_url: str, agent: ScriptedAgent, clock: ManualClock) -> AsyncIterator[Scene]:
    database = CountingDatabase(await open_database(database_url))
    database.reads = []
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        app = create_app(kernel, Configuration(database=database_url))
        async with reach(app) as http:
            yield Scene(database, kernel, http)
    await database.close()


async def job_of(scene: Scene) -> Job:
    return await scene.kernel.schedule(CHAT, Every(60), Ask("Look."))


async def test_a_changed_automation_takes_at_most_four_reads(scene: Scene) -> None:
    job = await job_of(scene)
    changes = {"name": "new", "message": "Look again.", "schedule": "every 2h", "policy": {"retries": 1}}
    reads = await scene.reads_of("PATCH", f"/automations/{job.id}", changes)
    assert len(reads) <= 4, reads
    assert reads.count("sessions.by_id") == 1


async def test_a_pause_takes_at_most_three_reads(scene: Scene) -> None:
    job = await job_of(scene)
    reads = await scene.reads_of("POST", f"/automations/{job.id}/pause")
    assert len(reads) <= 3, reads
    reads = await scene.reads_of("POST", f"/automations/{job.id}/resume")
    assert len(reads) <= 3, reads


async def test_an_explanation_of_a_job_without_a_run_takes_at_most_five_reads(scene: Scene) -> None:
    job = await job_of(scene)
    assert len(reads := await scene.reads_of("GET", f"/automations/{job.id}/explain")) <= 5, reads


async def test_an_explanation_of_a_run_that_waited_takes_at_most_five_reads(
    scene: Scene, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await job_of(scene)
    await scene.kernel.receive(CHAT, "Hello")
    async with under_way(scene.kernel, agent):
        clock.advance(seconds=60)
        await scene.kernel.workers.timer.step()
        waiting = await scene.reads_of("GET", f"/automations/{job.id}/explain")
        assert len(waiting) <= 5, waiting
        assert "turns.lane_now" in waiting
        clock.advance(seconds=5)
    await quiet(scene.kernel)
    (run,) = await scene.kernel.runs.list(job=job.id)
    assert run.outcome == "ok"
    ended = await scene.reads_of("GET", f"/automations/{job.id}/explain")
    assert len(ended) <= 5, ended
    assert "turns.between" in ended


async def test_a_turn_takes_at_most_three_reads(scene: Scene) -> None:
    turn = await scene.kernel.receive(CHAT, "Hello")
    await quiet(scene.kernel)
    assert len(reads := await scene.reads_of("GET", f"/turns/{turn.turn_id}")) <= 3, reads
