"""Zombie: a lane's owner that is stopped for longer than its lease, as by a laptop's lid, and wakes up.

It has lost its lane to another worker and does not know it. All its late writes are refused, the new owner is
not disturbed, and its own agent is cancelled.
"""

import asyncio
import random
from pathlib import Path

from segue.kernel.kernel import Kernel
from segue.model.states import Outcome
from tests.crash.figures import Record, p99
from tests.crash.journal import Did, Entry
from tests.crash.processes import LONG, Processes, Worker, processes, running
from tests.eventually import eventually

ROUNDS = 20 if LONG else 1
ZOMBIES = 5
LEASE = 3.0
"""Long enough for the new owner to keep it while the zombies wake, on a busy machine too."""

LATE_WRITES = {"event", "renewal", "draft", "finish", "release"}


async def test_a_stopped_owner_that_wakes_up_changes_nothing(
    database_url: str, tmp_path: Path, figure: Record
) -> None:
    rng = random.Random(3)
    told: list[float] = []
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with (
            processes(database_url, folder, lease=LEASE) as zombies,
            zombies.successor() as kernel,
        ):
            told += await _wake_zombies(zombies, kernel, f"web:{number}", rng)
    figure(f"{len(told)} zombies, from waking to the agent's cancellation, p99", f"{p99(told):.2f} s")


async def _wake_zombies(zombies: Processes, kernel: Kernel, key: str, rng: random.Random) -> list[float]:
    go, over = zombies.gate(), zombies.gate()
    workers = [zombies.start(go=go) for _ in range(ZOMBIES)]
    await zombies.ready(*workers)
    turns = [(await kernel.receive(f"{key}-{n}", f"stop {over}")).turn_id for n in range(ZOMBIES)]
    go.touch()
    await eventually(lambda: len(_told(zombies, Did.STOPPED)) == ZOMBIES, "all have stopped")
    async with running(kernel):
        await eventually(lambda: len(_told(zombies, Did.STARTED)) == 2 * ZOMBIES, "all are taken over")
        await asyncio.gather(*(_resume(worker, rng.uniform(0, 2 * LEASE)) for worker in workers))
        refusals = ZOMBIES * len(LATE_WRITES)
        await eventually(lambda: len(_told(zombies, *_TRIED)) >= refusals, "all have tried to write")
        over.touch()
        ended = [await kernel.wait(turn_id) for turn_id in turns]
    assert not _told(zombies, Did.ACCEPTED)
    for worker in workers:
        assert {entry.note for entry in _told(zombies, Did.REFUSED) if entry.pid == worker.pid} == LATE_WRITES
    assert {(turn.outcome, turn.attempt, turn.reply) for turn in ended} == {(Outcome.OK, 2, "One two.")}
    assert not await kernel.audit()
    return _from_waking_to_cancellation(zombies, workers)


_TRIED = (Did.ACCEPTED, Did.REFUSED)


def _told(zombies: Processes, *kinds: Did) -> list[Entry]:
    return zombies.journal.entries(*kinds)


async def _resume(worker: Worker, after: float) -> None:
    await asyncio.sleep(after)
    worker.resume()


def _from_waking_to_cancellation(zombies: Processes, workers: list[Worker]) -> list[float]:
    woken = {entry.pid: entry.at for entry in _told(zombies, Did.RESUMED)}
    stopped = {entry.pid: entry.at for entry in _told(zombies, Did.CANCELLED)}
    return [stopped[worker.pid] - woken[worker.pid] for worker in workers]
