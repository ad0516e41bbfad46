"""Fail-over: the primary crashes in the middle of the work, its synchronous standby is promoted.

All processes follow by a URL that names both servers. Nothing that was acknowledged is lost or runs twice,
and no process ends.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from segue.errors import StoreUnavailable
from segue.kernel.kernel import Kernel
from segue.model.states import Outcome
from tests.crash.figures import Record
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.processes import LONG, over, processes
from tests.eventually import eventually
from tests.postgres import Server, temporary_server, temporary_standby

SESSIONS = 20
MESSAGES = 2_000 if LONG else 60
"""Before the crash, and again after it."""
WORKERS = 4 if LONG else 2


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with temporary_server() as primary, temporary_standby(primary) as standby:
        yield primary, standby


async def wait_for_standbys(primary: Server) -> None:
    """From now on a commit is acknowledged when the standby has it."""
    connection = await asyncpg.connect(primary.url)
    try:
        await connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        await connection.execute("SELECT pg_reload_conf()")

        async def is_synchronous() -> bool:
            return bool(
                await connection.fetchval("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
            )

        await eventually(is_synchronous, "the standby is synchronous")
    finally:
        await connection.close()


async def promote(standby: Server) -> None:
    connection = await asyncpg.connect(standby.url)
    try:
        assert await connection.fetchval("SELECT pg_promote()")
    finally:
        await connection.close()


class Talk:
    """Sends messages one after the other, also while there is no primary."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.acknowledged: list[str] = []
        self.refused = 0

    async def go_on(self) -> None:
        for number in itertools.count():
            try:
                sent = await self._kernel.receive(f"web:{number % SESSIONS}", f"work {number % 40}")
            except StoreUnavailable:
                self.refused += 1
            else:
                self.acknowledged.append(sent.turn_id)

    async def has_sent(self, more: int) -> None:
        wanted = len(self.acknowledged) + more
        await eventually(lambda: len(self.acknowledged) >= wanted, f"{more} more messages")


@pytest.mark.serial
async def test_workers_follow_a_promoted_standby_and_lose_nothing(
    servers: tuple[Server, Server], tmp_path: Path, figure: Record
) -> None:
    primary, standby = servers
    await wait_for_standbys(primary)
    hosts = f"{primary.data_dir},{standby.data_dir}"
    url = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
    async with processes(url, tmp_path, lease=15.0) as several, several.successor("door") as kernel:
        workers = [several.start(user_runners=4) for _ in range(WORKERS)]
        await several.ready(*workers)
        talk = Talk(kernel)
        talking = asyncio.create_task(talk.go_on())
        await talk.has_sent(MESSAGES)
        primary.crash()
        await promote(standby)
        await talk.has_sent(MESSAGES)
        talking.cancel()
        await asyncio.wait([talking])
        outcomes = Counter([(await over(kernel, turn_id)).outcome for turn_id in talk.acknowledged])
        assert outcomes == {Outcome.OK: len(talk.acknowledged)}
        assert not any(worker.has_ended() for worker in workers)
        assert not await kernel.audit()
        entries = several.journal.entries()
        ended = Counter(entry.turn for entry in entries if entry.did is Did.ENDED)
        assert set(ended.values()) == {1}
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
    figure("messages acknowledged, of which lost, run twice", f"{len(talk.acknowledged)}, 0, 0")
    figure("messages refused while there was no primary", str(talk.refused))
