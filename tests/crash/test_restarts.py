"""The database crashes and starts again, over and over, for minutes, while messages flow.

Nothing that was acknowledged is lost or runs twice, and no process ends.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.model.states import Outcome
from tests.crash.figures import Record
from tests.crash.journal import Did, Entry, fences_out_of_order, overlaps
from tests.crash.processes import LONG, over, processes
from tests.crash.talk import Talk
from tests.postgres import Server, temporary_server

SECONDS = 600.0 if LONG else 5.0
BETWEEN = (5.0, 40.0) if LONG else (0.5, 1.5)
DOWN = (0.0, 2.0)
WORKERS = 4 if LONG else 2
MESSAGES = 20
"""Before the first crash, and after the last."""


@pytest.fixture
def server() -> Iterator[Server]:
    with temporary_server() as made:
        yield made


@pytest.mark.serial
async def test_a_database_that_restarts_again_and_again_loses_nothing(
    server: Server, tmp_path: Path, figure: Record
) -> None:
    async with processes(server.url, tmp_path, lease=15.0) as several, several.successor("door") as kernel:
        workers = [several.start(user_runners=4) for _ in range(WORKERS)]
        await several.ready(*workers)
        talk = Talk(kernel)
        talking = asyncio.create_task(talk.go_on())
        await talk.has_sent(MESSAGES)
        ups = await _restart_for_a_while(server)
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
    figure("restarts", str(len(ups)))
    figure("messages acknowledged, of which lost, run twice", f"{len(talk.acknowledged)}, 0, 0")
    figure("messages refused while there was no server", str(talk.refused))
    figure("longest time from a server that is up to the next turn", f"{_longest_wait(entries, ups):.1f} s")


async def _restart_for_a_while(server: Server) -> list[float]:
    """When the server was up again, each time."""
    rng = random.Random(5)
    ups: list[float] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(rng.uniform(*DOWN))
        await asyncio.to_thread(server.start)
        ups.append(time.monotonic())
        await asyncio.sleep(rng.uniform(*BETWEEN))
    return ups


def _longest_wait(entries: list[Entry], ups: list[float]) -> float:
    leases = [entry.at for entry in entries if entry.did is Did.LEASED]
    return max(next(at for at in leases if at > up) - up for up in ups)
