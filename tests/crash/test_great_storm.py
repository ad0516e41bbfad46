"""The great storm: kills, stops, crashes of the database, cuts of the network and a fail-over, in one run.

Four workers and two PostgreSQL servers are on machines of their own. A thousand sessions get messages and
jobs all the time. Afterwards nothing that was acknowledged is lost, no tool ran twice, no two agents were at
work in one session, and every slot has one row.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from segue.errors import Conflict, StoreUnavailable
from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.records import Turn
from segue.model.states import Outcome
from segue.times.trigger import Every
from tests.crash.figures import Record, p99
from tests.crash.journal import Did, Entry, fences_out_of_order, overlaps
from tests.crash.processes import LONG, Processes, Worker, processes
from tests.crash.standby import promote, wait_for_standbys
from tests.eventually import eventually
from tests.machines import Machines, machines
from tests.postgres import Server, temporary_server, temporary_standby

SECONDS = 300.0 if LONG else 15.0
SESSIONS = 1_000 if LONG else 50
JOBS = 50 if LONG else 5
BETWEEN_MESSAGES = 0.02 if LONG else 0.05
BETWEEN_FAULTS = 2.0
LEASE = 4.0
DRAIN_SECONDS = 180.0
NAMES = ("one", "two", "three", "four")


@dataclass
class Storm:
    machines: Machines
    processes: Processes
    kernel: Kernel
    """In the test's own process; it takes messages in and runs nothing."""
    server: Server
    standby: Server | None
    """Until it is promoted."""
    workers: dict[str, Worker] = field(default_factory=dict)
    rng: random.Random = field(default_factory=lambda: random.Random(28))
    acknowledged: list[str] = field(default_factory=list)
    refused: int = 0
    jobs: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    last_fault: float = 0.0
    outages: list[tuple[float, float]] = field(default_factory=list)
    """When there was no database, by the clock of the journal."""

    async def talk(self) -> None:
        while True:
            words = f"{self.rng.choice(('work', 'tool'))} {self.rng.randrange(500)}"
            try:
                sent = await self.kernel.receive(f"web:{self.rng.randrange(SESSIONS)}", words)
            except StoreUnavailable:
                self.refused += 1
            else:
                self.acknowledged.append(sent.turn_id)
            await asyncio.sleep(BETWEEN_MESSAGES)

    async def order(self) -> None:
        for number in range(JOBS):
            job = await self.kernel.schedule(f"web:{number}", Every(2), Ask("work 50"))
            self.jobs.append(job.id)

    async def start(self) -> None:
        for name in NAMES:
            self.workers[name] = self._start(name)
        await self.processes.ready(*self.workers.values())

    def _start(self, name: str) -> Worker:
        return self.processes.start(machine=self.machines[name], user_runners=8, runners=3)

    async def rage(self) -> None:
        """One fault after the other; in the middle of the time, the fail-over."""
        begun = time.monotonic()
        faults: list[Callable[[], Awaitable[None]]] = [self.kill, self.kill, self.stop, self.cut, self.crash]
        while time.monotonic() < begun + SECONDS:
            self.supervise()
            if self.standby and time.monotonic() > begun + SECONDS / 2:
                await self.fail_over()
            else:
                await self.rng.choice(faults)()
            self.last_fault = time.monotonic()
            await asyncio.sleep(self.rng.uniform(0, BETWEEN_FAULTS))

    def supervise(self) -> None:
        """Start again what found no database when it started. What had opened it once must not end."""
        opened = {entry.pid for entry in self.processes.journal.entries(Did.READY)}
        for name, worker in self.workers.items():
            if worker.has_ended():
                assert worker.pid not in opened, "a worker ended because of its database"
                self.workers[name] = self._start(name)

    def _victim(self) -> str:
        return self.rng.choice(NAMES)

    async def kill(self) -> None:
        name = self._victim()
        await self.workers[name].kill()
        self.workers[name] = self._start(name)
        self.faults["kills"] += 1

    async def stop(self) -> None:
        worker = self.workers[self._victim()]
        worker.stop()
        await asyncio.sleep(self.rng.uniform(0.2, 2) * LEASE)
        worker.resume()
        self.faults["stops"] += 1

    async def cut(self) -> None:
        name = self._victim()
        self.machines.cut(name)
        await asyncio.sleep(self.rng.uniform(0.2, 3) * LEASE)
        self.machines.join(name)
        self.faults["cuts"] += 1

    async def crash(self) -> None:
        down_at = time.monotonic()
        await asyncio.to_thread(self.server.crash)
        await asyncio.sleep(self.rng.uniform(0, 2))
        await asyncio.to_thread(self.server.start)
        if self.standby:
            await wait_for_standbys(self.server)
        self.outages.append((down_at, time.monotonic()))
        self.faults["database crashes"] += 1

    async def fail_over(self) -> None:
        assert self.standby is not None
        down_at = time.monotonic()
        await asyncio.to_thread(self.server.crash)
        await promote(self.standby)
        self.server, self.standby = self.standby, None
        self.outages.append((down_at, time.monotonic()))
        self.faults["fail-overs"] += 1

    async def drain(self) -> float:
        """Take no more in, and wait until nothing is left; how long after the last fault."""
        for job in self.jobs:
            await self._pause(job)
        await eventually(self._is_drained, "the lanes are drained", within=DRAIN_SECONDS, every=0.1)
        return time.monotonic() - self.last_fault

    async def _pause(self, job_id: str) -> None:
        while True:
            with suppress(Conflict, StoreUnavailable):  # it has fired between the look and the change
                await self.kernel.jobs.pause(job_id)
                return

    async def _is_drained(self) -> bool:
        return not any(session.busy for session in await self.kernel.sessions.list(limit=SESSIONS))

    async def ends(self) -> list[Turn]:
        return [await self.kernel.turns.get(turn_id) for turn_id in self.acknowledged]


@pytest.fixture
def network() -> Iterator[Machines]:
    with machines("db1", "db2", *NAMES) as made:
        yield made


@pytest.fixture
def servers(network: Machines) -> Iterator[tuple[Server, Server]]:
    with (
        temporary_server(network["db1"]) as primary,
        temporary_standby(primary, network["db2"]) as standby,
    ):
        yield primary, standby


@pytest.mark.serial
async def test_a_storm_of_every_fault_loses_and_doubles_nothing(
    network: Machines, servers: tuple[Server, Server], tmp_path: Path, figure: Record
) -> None:
    primary, standby = servers
    await wait_for_standbys(primary)
    hosts = f"{network['db1'].address}:5432,{network['db2'].address}:5432"
    url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
    sockets = f"{primary.data_dir},{standby.data_dir}"
    door = f"postgresql://postgres@/postgres?host={sockets}&target_session_attrs=read-write"
    async with (
        processes(url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door", url=door) as kernel,
    ):
        storm = Storm(network, doomed, kernel, primary, standby)
        await storm.start()
        await storm.order()
        talking = asyncio.create_task(storm.talk())
        await storm.rage()
        talking.cancel()
        await asyncio.wait([talking])
        storm.supervise()
        drained = await storm.drain()
        turns = await storm.ends()
        assert {turn.outcome for turn in turns} <= {Outcome.OK, Outcome.INTERRUPTED}
        for job_id in storm.jobs:
            runs = await kernel.runs.list(job=job_id, limit=1000)
            assert len({run.slot for run in runs}) == len(runs)
            assert all(run.outcome is not None for run in runs)
        entries = doomed.journal.entries()
        acted = Counter(entry.turn for entry in entries if entry.did is Did.ACTED)
        assert set(acted.values()) <= {1}, "a tool ran twice"
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
        assert not await kernel.audit()
        storm.supervise()
    interrupted = sum(turn.outcome is Outcome.INTERRUPTED for turn in turns)
    figure("faults", ", ".join(f"{count} {name}" for name, count in sorted(storm.faults.items())))
    figure("turns acknowledged, interrupted, lost, doubled", f"{len(turns)}, {interrupted}, 0, 0")
    figure("messages refused while there was no database", str(storm.refused))
    figure("drained after the last fault", f"{drained:.1f} s")
    taken = _take_overs(entries)
    calm = [(a, b) for a, b in taken if not any(a < up and down < b for down, up in storm.outages)]
    for what, spans in (("", taken), (" with the database up", calm)):
        if spans:
            late = p99([b - a for a, b in spans])
            figure(f"{len(spans)} take-overs after a kill{what}, lease {LEASE:g} s, p99", f"{late:.1f} s")


def _take_overs(entries: list[Entry]) -> list[tuple[float, float]]:
    """From each kill to the next lease of each lane in which its agents had been at work."""
    taken: list[tuple[float, float]] = []
    for index, death in enumerate(entries):
        if death.did is Did.DIED:
            for session in _at_work(entries[:index], death.pid):
                later = (e for e in entries[index:] if e.did in (Did.LEASED, Did.RESCUED))
                taken += [(death.at, e.at) for e in later if e.session == session][:1]
    return taken


def _at_work(entries: list[Entry], pid: int) -> set[str]:
    """The sessions in which this process has started an agent that has not ended."""
    mine = [entry for entry in entries if entry.pid == pid]
    over = {entry.turn for entry in mine if entry.did in (Did.ENDED, Did.CANCELLED)}
    return {entry.session for entry in mine if entry.did is Did.STARTED and entry.turn not in over}
