"""Machines whose network fails: cut off without a word, slow, or losing packets.

Each worker is on a machine of its own, and so is PostgreSQL. The test itself reaches the server through its
Unix socket.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.kernel.kernel import Kernel
from segue.model.states import Outcome
from tests.crash.figures import Record, p99
from tests.crash.journal import Did, Entry, Journal, fences_out_of_order, overlaps
from tests.crash.processes import LONG, Processes, Worker, over, processes
from tests.eventually import eventually
from tests.machines import Machines, machines
from tests.postgres import Server, temporary_server

LEASE = 6.0 if LONG else 3.0
CUTS = 5 if LONG else 1
CUT_SECONDS = 30.0 if LONG else 0.0
"""At least so long; and always until another worker has taken over."""
SESSIONS = 20
MESSAGES = 100 if LONG else 15

NETWORKS = [(2, 0.0), (20, 0.0), (100, 0.0), (20, 0.02)] if LONG else [(20, 0.02)]
"""Milliseconds for a packet in each direction, and the share that is lost."""


@pytest.fixture
def network() -> Iterator[Machines]:
    with machines("db", "left", "right") as made:
        yield made


@pytest.fixture
def server(network: Machines) -> Iterator[Server]:
    with temporary_server(network["db"]) as made:
        yield made


def url_at(network: Machines) -> str:
    return f"postgresql://postgres@{network['db'].address}/postgres"


@pytest.mark.serial
async def test_a_worker_that_is_cut_off_stops_its_turn_before_another_starts_it(
    network: Machines, server: Server, tmp_path: Path, figure: Record
) -> None:
    taken: list[float] = []
    stopped: list[float] = []
    async with (
        processes(url_at(network), tmp_path, lease=LEASE) as several,
        several.successor("door", url=server.url) as kernel,
    ):
        workers = {name: several.start(machine=network[name], user_runners=4) for name in ("left", "right")}
        await several.ready(*workers.values())
        for number in range(CUTS):
            await _cut_off_the_owner(network, several, kernel, workers, f"web:{number}")
        entries = several.journal.entries()
        assert not any(worker.has_ended() for worker in workers.values())
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
        assert not await kernel.audit()
        for cut in several.journal.entries(Did.CUT_OFF):
            cancelled, leased = _what_followed(several.journal, cut)
            stopped.append(cancelled.at - cut.at)
            taken.append(leased.at - cut.at)
    figure(
        f"{CUTS} partitions, from the cut to the end of the agent, lease {LEASE:g} s", f"{max(stopped):.1f} s"
    )
    figure(f"{CUTS} partitions, from the cut to the next start, lease {LEASE:g} s", f"{max(taken):.1f} s")


async def _cut_off_the_owner(
    network: Machines, several: Processes, kernel: Kernel, workers: dict[str, Worker], key: str
) -> None:
    """One turn is at work when its machine is cut off. The machine comes back, and both go on."""
    gate = several.gate()
    turn = (await kernel.receive(key, f"wait {gate}")).turn_id
    owner = (await eventually(lambda: _starts(several.journal, turn), "it starts"))[0].pid
    name = next(name for name, worker in workers.items() if worker.pid == owner)
    cut_at = time.monotonic()
    several.journal.write(Did.CUT_OFF, pid=owner, turn=turn)
    network.cut(name)
    await eventually(lambda: len(_starts(several.journal, turn)) == 2, "another worker starts it")
    await asyncio.sleep(max(0.0, cut_at + CUT_SECONDS - time.monotonic()))
    network.join(name)
    gate.touch()
    assert (await over(kernel, turn)).outcome is Outcome.OK

    async def both_work() -> bool:
        sent = [(await kernel.receive(f"{key}-{n}", "answer")).turn_id for n in range(4)]
        for each in sent:
            await over(kernel, each)
        return {e.pid for e in several.journal.entries(Did.ENDED) if e.turn in sent} == {
            worker.pid for worker in workers.values()
        }

    await eventually(both_work, "the machine that was cut off works again")


def _starts(journal: Journal, turn: str) -> list[Entry]:
    return [entry for entry in journal.entries(Did.STARTED) if entry.turn == turn]


def _what_followed(journal: Journal, cut: Entry) -> tuple[Entry, Entry]:
    """How the agent that was cut off ended, and who leased the turn next."""
    later = [entry for entry in journal.entries() if entry.turn == cut.turn and entry.at > cut.at]
    cancelled = next(entry for entry in later if entry.did is Did.CANCELLED and entry.pid == cut.pid)
    leased = next(entry for entry in later if entry.did is Did.LEASED and entry.pid != cut.pid)
    assert cancelled.at < leased.at
    return cancelled, leased


@pytest.mark.parametrize(("delay", "loss"), NETWORKS)
async def test_on_a_slow_network_each_message_is_answered_once(
    network: Machines, server: Server, tmp_path: Path, figure: Record, delay: int, loss: float
) -> None:
    async with (
        processes(url_at(network), tmp_path, lease=15.0) as several,
        several.successor("door", url=server.url) as kernel,
    ):
        network.delay(delay / 1000)
        network.lose(loss)
        workers = [several.start(machine=network[name], user_runners=4) for name in ("left", "right")]
        await several.ready(*workers)
        took = [await _answered(kernel, f"web:{number % SESSIONS}") for number in range(MESSAGES)]
        entries = several.journal.entries()
        ended = Counter(entry.turn for entry in entries if entry.did is Did.ENDED)
        assert len(ended) == MESSAGES
        assert set(ended.values()) == {1}
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
        assert not await kernel.audit()
    figure(
        f"{MESSAGES} messages one by one, from receipt to the end of the turn, median",
        f"{sorted(took)[MESSAGES // 2] * 1000:.0f} ms",
    )
    figure(
        f"{MESSAGES} messages one by one, from receipt to the end of the turn, p99",
        f"{p99(took) * 1000:.0f} ms",
    )


async def _answered(kernel: Kernel, key: str) -> float:
    begun = time.monotonic()
    turn = await over(kernel, (await kernel.receive(key, "answer")).turn_id)
    assert turn.outcome is Outcome.OK
    return time.monotonic() - begun
