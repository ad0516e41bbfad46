"""Every waiting row is found at once, though scans of the queues start above the oldest rows."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from segue import Ask, At, Every, Kernel, Owner, Policy
from segue.kernel.transactions import lease
from segue.kernel.transactions.lane import Pool
from segue.kernel.workers.timer import Timer
from segue.kernel.workers.worker_context import WorkerTuning
from segue.model.decision import POSTPONED_BY
from segue.model.policy import Busy, Late
from segue.store import queries
from segue.store.database import Begin, Database, Params, Rows, T, Transaction, Value
from segue.store.open import open_database
from segue.store.queries import Query
from segue.store.queue_start import BOTTOM
from segue.store.settings import ScanSettings, StoreSettings
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.testing.forwarding import ForwardingDatabase
from tests.flows.house import OpenKernel
from tests.flows.story import BlockingAgent, outcomes, working
from tests.leases import terms_of

CHAT = "web:1"

QUEUES = (queries.jobs, queries.sessions, queries.deliveries)
NO_QUEUES = {"jobs.end_of_window", "jobs.prune", "sessions.wake"}
"""They have a `since`, but do not look for work."""
LOOKS = {query.name for queue in QUEUES for query in queue if "since" in query.parameters} - NO_QUEUES


SLOW = StoreSettings(scans=ScanSettings(long_seconds=0, stale_seconds=0, one_in=1e9, longest_seconds=1e9))
"""Every scan counts as slow, and after the first one none begins at the bottom."""
BEHIND_MS = SLOW.scans.behind_ms


@pytest.fixture
def store_settings() -> StoreSettings:
    return SLOW


async def test_a_message_that_waited_behind_a_long_turn(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent(CHAT)
    kernel = await open_kernel(agent=agent)
    async with working(kernel):
        await kernel.receive(CHAT, "Think hard.")
        await agent.is_waiting_in(CHAT)
        waiting = await kernel.receive(CHAT, "Are you there?")
        for _ in range(4):  # until lanes that have been ready for so long are not looked for any more
            clock.advance(milliseconds=BEHIND_MS // 3)
            await kernel.wait(await kernel.receive("web:2", "Hello"))
        agent.release()
        async with asyncio.timeout(10):
            assert (await kernel.wait(waiting)).reply == "ok"
    await quiet(kernel)


async def test_a_turn_that_was_taken_back(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "Hello")
    lost = terms_of("elsewhere", lease_ms=BEHIND_MS, lease_now=clock.ms())
    leased = await kernel.store.commit(lease.lease, lost, pool=Pool.USER, after="", limit=1, now=clock.ms())
    assert leased.value.held
    assert await kernel.workers.user_runner.step() == 0
    clock.advance(milliseconds=2 * BEHIND_MS)
    assert await kernel.store.next_ready(Pool.USER) is None
    assert await kernel.workers.reaper.step() == 1
    assert await kernel.workers.user_runner.step() == 1
    await quiet(kernel)


async def test_slots_that_are_owed_after_one_was_put_off(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    owed = Policy(late=Late.ALL, busy=Busy.POSTPONE)
    job = await kernel.schedule(CHAT, Every(20), Ask("What is new?"), policy=owed)
    await kernel.receive(CHAT, "Hello")
    clock.advance(seconds=20)
    assert await kernel.workers.timer.step() == clock.ms(), "it looks again at once"
    assert await outcomes(kernel, job) == [], "the session is busy"
    assert await kernel.workers.user_runner.step() == 1
    clock.set(clock.now() + POSTPONED_BY)
    for _ in range(4):
        await kernel.workers.timer.step()
        await kernel.workers.runner.step()
    assert await outcomes(kernel, job) == ["ok"] * 4
    await quiet(kernel)


async def test_a_job_that_is_resumed_after_its_moment(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("What is new?"))
    await kernel.jobs.pause(job.id)
    clock.advance(hours=2)
    await kernel.workers.timer.step()
    await kernel.jobs.resume(job.id)
    await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == [None]
    await quiet(kernel)


async def test_a_due_job_that_is_given_a_smaller_jitter(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent)
    job = await kernel.schedule(CHAT, Every(3600), Ask("What is new?"), policy=Policy(jitter_seconds=3600))
    assert job.next_at is not None
    assert job.slot is not None
    assert job.next_at > job.slot
    clock.advance(hours=3)
    assert len(await kernel.store.due_jobs(clock.ms(), 10)) == 1
    await kernel.jobs.update(job.id, policy=Policy())
    await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == ["missed", None]
    await quiet(kernel)


class Noting(ForwardingDatabase):
    """Takes note of where looks begin."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.began: dict[str, set[Value]] = {}
        self.looked_everywhere = asyncio.Event()

    async def read(self, query: Query, params: Params) -> Rows:
        self._note(query, params)
        return await super().read(query, params)

    async def run(self, begin: Begin[T]) -> T:
        return await super().run(lambda: self._noted(begin()))

    def _noted(self, transaction: Transaction[T]) -> Transaction[T]:
        try:
            statement = next(transaction)
            while True:
                self._note(*statement)
                statement = transaction.send((yield statement))
        except StopIteration as end:
            result: T = end.value
            return result

    def _note(self, query: Query, params: Params | list[Params]) -> None:
        if query.name in LOOKS and not isinstance(params, list):
            self.began.setdefault(query.name, set()).add(params["since"])
            if self.began.keys() == LOOKS:
                self.looked_everywhere.set()


async def test_a_scan_does_not_begin_at_the_bottom(
    migrated_postgres_url: str, clock: ManualClock, channel: RecordingChannel
) -> None:
    """Whatever it looks for: one who did would walk over all who have left."""
    database = Noting(await open_database(migrated_postgres_url, SLOW))
    async with Kernel(database, agent=ScriptedAgent(), clock=clock, channels=[channel]) as kernel:
        # So that two jobs are a flood, which is shared out.
        kernel.workers.timer = Timer(replace(kernel.workers.context, tuning=WorkerTuning(due_jobs=1)))
        await quiet(kernel)
        database.began.clear()  # the first look at each queue
        soon = At(clock.now() + timedelta(seconds=1))
        for account in ("one", "another"):
            await kernel.schedule("test:1", soon, Ask("What is new?"), owner=Owner(account))
        await kernel.receive("test:1", "Hello")
        clock.advance(seconds=1)
        await quiet(kernel)
        async with working(kernel):  # an idle worker asks when it will have work
            await database.looked_everywhere.wait()
        assert not await kernel.audit()
    await database.close()
    assert len(channel.sent) == 3
    assert [name for name, places in database.began.items() if BOTTOM in places] == []
