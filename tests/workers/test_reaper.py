"""Reaper: when it reclaims a lane, and when it gives the holder time to renew."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from segue import Kernel, Settings
from segue.kernel.live.running import RunningTurn
from segue.kernel.transactions import lease
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.workers import keeper
from segue.store.database import Begin, T
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent
from segue.testing.forwarding import ForwardingDatabase
from tests.leases import terms_of

LEASE_MS = round(Settings().lease_seconds * 1000)
NAP_MS = 1000
GRACE_MS = LEASE_MS // 2
LANES = 5


class Bedside(ManualClock):
    """Records how long each wait is."""

    def __init__(self) -> None:
        super().__init__()
        self.naps: asyncio.Queue[int] = asyncio.Queue()

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        self.naps.put_nowait((until or 0) - self.ms())
        await super().wait(event, until)


@pytest.fixture
def clock() -> Bedside:
    return Bedside()


@pytest_asyncio.fixture(loop_scope="session")
async def held(kernel: Kernel, clock: Bedside) -> AsyncIterator[HeldLane]:
    """A lane of another process, while the reaper under test runs and has checked once."""
    await kernel.receive("web:1", "Hi")
    terms = terms_of("elsewhere", lease_ms=LEASE_MS, lease_now=clock.ms())
    leased = await kernel.store.commit(lease.lease, terms, pool=Pool.USER, after="", limit=1, now=clock.ms())
    (held,) = leased.value.held
    reaping = asyncio.create_task(kernel.workers.reaper.run())
    assert await clock.naps.get() == NAP_MS
    yield held
    reaping.cancel()
    await asyncio.wait([reaping])


async def is_held(kernel: Kernel, held: HeldLane) -> bool:
    session = await kernel.store.session_by_id(held.session.id)
    return (session.holder, session.fence) == ("elsewhere", held.fence)


async def test_a_lane_whose_lease_ran_out_before_our_eyes_is_taken_back(
    kernel: Kernel, clock: Bedside, held: HeldLane
) -> None:
    for _ in range(0, LEASE_MS, NAP_MS):
        assert await is_held(kernel, held)
        clock.advance(milliseconds=NAP_MS)
        assert await clock.naps.get() == NAP_MS
    assert not await is_held(kernel, held)


async def test_a_reaper_that_could_not_look_gives_holders_time_to_renew(
    kernel: Kernel, clock: Bedside, held: HeldLane
) -> None:
    clock.advance(milliseconds=2 * LEASE_MS)
    assert await clock.naps.get() == GRACE_MS
    assert await is_held(kernel, held)
    task = asyncio.current_task()
    assert task is not None
    await kernel.store.commit(keeper.renew, [RunningTurn(held, task, 0, 0)], LEASE_MS, clock.ms())
    clock.advance(milliseconds=GRACE_MS)
    assert await clock.naps.get() == NAP_MS
    assert await is_held(kernel, held)


async def test_and_takes_it_back_if_they_do_not(kernel: Kernel, clock: Bedside, held: HeldLane) -> None:
    clock.advance(milliseconds=2 * LEASE_MS)
    assert await clock.naps.get() == GRACE_MS
    clock.advance(milliseconds=GRACE_MS)
    assert await clock.naps.get() == NAP_MS
    assert not await is_held(kernel, held)


class Together(ForwardingDatabase):
    """Starts a transaction when so many wait to be started."""

    barrier: asyncio.Barrier | None = None

    async def run(self, begin: Begin[T]) -> T:
        if self.barrier:
            await self.barrier.wait()
        return await super().run(begin)


async def test_all_lanes_of_a_crashed_process_are_taken_back_together(database_url: str) -> None:
    database = Together(await open_database(database_url))
    clock = ManualClock()
    async with Kernel(database, agent=ScriptedAgent(), clock=clock) as kernel:
        for number in range(LANES):
            await kernel.receive(f"web:{number}", "Hi")
        terms = terms_of("elsewhere", lease_ms=-1, lease_now=kernel.store.lease_now())
        await kernel.store.commit(lease.lease, terms, pool=Pool.USER, after="", limit=LANES, now=clock.ms())
        database.barrier = asyncio.Barrier(LANES)
        async with asyncio.timeout(30):
            assert await kernel.workers.reaper.step() == LANES
        database.barrier = None
        assert not await kernel.audit()
    await database.close()
