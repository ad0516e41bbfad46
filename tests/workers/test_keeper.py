"""A worker that is cut off from its database stops its turn before its lease ends, with a margin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import pytest_asyncio

from segue import Kernel, OpenTurn, Settings
from segue.errors import StoreUnavailable
from segue.kernel.live.hub import LiveText
from segue.kernel.live.running import CancelReason, RunningTurn
from segue.kernel.transactions.lease import reliable_ms
from segue.kernel.workers.keeper import renew
from segue.store.database import Begin, Params, Rows, T
from segue.store.open import open_database
from segue.store.queries import Query
from segue.store.settings import StoreSettings
from segue.testing import ManualClock, ScriptedAgent
from segue.testing.forwarding import ForwardingDatabase
from tests.eventually import eventually

LEASE_MS = 15_000


class Network(ForwardingDatabase):
    """The way to the database: it can be cut, so that calls fail or are not answered at all."""

    cut = False
    silent = False

    async def run(self, begin: Begin[T]) -> T:
        await self._pass()
        return await super().run(begin)

    async def read(self, query: Query, params: Params) -> Rows:
        await self._pass()
        return await super().read(query, params)

    async def _pass(self) -> None:
        if self.silent:
            await asyncio.Event().wait()
        if self.cut:
            raise StoreUnavailable("the network is cut; nothing was done")


@pytest_asyncio.fixture(loop_scope="session")
async def network(database_url: str) -> AsyncIterator[Network]:
    network = Network(await open_database(database_url))
    yield network
    network.cut = network.silent = False
    await network.close()


@asynccontextmanager
async def turn_under_way(network: Network, clock: ManualClock) -> AsyncIterator[tuple[Kernel, RunningTurn]]:
    agent = ScriptedAgent()
    agent.pause()
    settings = Settings(lease_seconds=LEASE_MS / 1000)
    async with Kernel(network, agent=agent, clock=clock, settings=settings) as kernel:
        await kernel.receive("web:1", "Think for a long time.")
        running = asyncio.create_task(kernel.workers.user_runner.step())
        await agent.under_way()
        (live,) = kernel.workers.turns
        yield kernel, live
        running.cancel()
        await asyncio.wait([running])


def cancel_reason_of(live: RunningTurn) -> CancelReason | None:
    return live.cancel_reason


@pytest.mark.parametrize("how", ["cut", "silent"])
async def test_a_worker_that_is_cut_off_stops_its_turn_a_third_of_the_lease_early(
    network: Network, database_url: str, clock: ManualClock, how: str
) -> None:
    async with (
        turn_under_way(network, clock) as (kernel, live),
        Kernel(database_url, agent=ScriptedAgent(), clock=clock) as successor,
    ):
        network.cut = True
        clock.advance(milliseconds=LEASE_MS * 2 // 3 - 1)
        await kernel.workers.keeper.step()
        assert cancel_reason_of(live) is None
        setattr(network, how, True)
        clock.advance(milliseconds=1)
        await kernel.workers.keeper.step()
        assert cancel_reason_of(live) is CancelReason.LEASE_LOST

        clock.advance(milliseconds=LEASE_MS // 3 - 1)
        assert await successor.workers.reaper.step() == 0, "the margin: no successor may start yet"
        clock.advance(milliseconds=1)
        assert await successor.workers.reaper.step() == 1


async def test_one_missed_renewal_does_not_cost_the_turn(network: Network, clock: ManualClock) -> None:
    async with turn_under_way(network, clock) as (kernel, live):
        network.cut = True
        clock.advance(milliseconds=LEASE_MS // 3)
        await kernel.workers.keeper.step()
        network.cut = False
        clock.advance(milliseconds=LEASE_MS // 6)
        await kernel.workers.keeper.step()
        clock.advance(milliseconds=LEASE_MS // 3)
        await kernel.workers.keeper.step()
        assert live.cancel_reason is None
        assert live.held_until > clock.steady_ms()


async def test_after_a_sleep_the_store_says_whether_the_lease_is_still_ours(
    network: Network, clock: ManualClock
) -> None:
    async with turn_under_way(network, clock) as (kernel, live):
        clock.advance(milliseconds=LEASE_MS * 2)
        await kernel.workers.keeper.step()
        assert live.cancel_reason is None
        assert live.held_until > clock.steady_ms()


async def test_drafts_come_more_often_while_another_process_follows_the_turn(
    migrated_postgres_url: str, clock: ManualClock
) -> None:
    words: asyncio.Queue[str] = asyncio.Queue()

    async def agent(turn: OpenTurn) -> AsyncIterator[str]:
        while True:
            yield await words.get()

    # A poll would wake the keeper too.
    polls_never = await open_database(migrated_postgres_url, StoreSettings(poll_seconds=3600))
    async with (
        Kernel(polls_never, agent=agent, clock=clock) as works,
        Kernel(migrated_postgres_url, agent=agent, clock=clock) as watches,
    ):
        await works.receive("web:1", "Count.")
        tasks = [
            asyncio.create_task(works.workers.user_runner.step()),
            asyncio.create_task(works.workers.keeper.run()),
        ]
        words.put_nowait("one ")
        await eventually(lambda: [turn.text for turn in works.workers.turns] == ["one "], "the agent speaks")
        (live,) = works.workers.turns
        read: list[str] = []
        tasks.append(asyncio.create_task(_read_text(watches, read)))
        await eventually(lambda: live.watched_until > clock.steady_ms(), "the turn is watched")

        for word in ("two ", "three "):
            await eventually(lambda: live.draft_length == live.text_length, "its draft is stored")
            words.put_nowait(word)
            # Not that the draft is behind: a notification may wake the keeper before this is looked at.
            await eventually(lambda: live.text.endswith(word), "the agent goes on")  # noqa: B023
            clock.advance(milliseconds=100)
            await eventually(lambda: "".join(read) == live.text, "the other process has read it")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    await polls_never.close()


async def _read_text(kernel: Kernel, read: list[str]) -> None:
    async for item in kernel.log.follow("web:1"):
        read += [item.text] if isinstance(item, LiveText) else []


@pytest.mark.parametrize("lease_ms", [100, 300, 1_000, 3_000, 3_001, 15_000, 600_000])
def test_the_margin_is_a_third_of_the_lease(lease_ms: int) -> None:
    margin = lease_ms - reliable_ms(lease_ms)
    assert margin == lease_ms // 3
    assert lease_ms < 3_000 or margin >= 1_000


async def test_a_renewal_counts_only_for_the_attempt_that_holds_the_fence(
    network: Network, clock: ManualClock
) -> None:
    """A process may have a turn twice: an agent that ignores its cancellation, and the next attempt."""
    async with turn_under_way(network, clock) as (kernel, live):
        fence = live.held.fence
        abandoned = RunningTurn(replace(live.held, fence=fence - 1), live.task, began=0, held_until=0)
        kept = await kernel.store.commit(renew, [abandoned, live], LEASE_MS, kernel.store.lease_now())
        assert kept == {(live.held.session.id, fence)}
