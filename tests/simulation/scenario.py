"""Scenario: several kernels on one database, clients that use them, and a nemesis that causes faults.

The kernels are real, with all their workers, each on its own simulated host. Clients call the public methods
and record what they were promised. The nemesis kills, freezes and stops hosts, loses requests and answers,
and sets clocks. Then it stops, and the system must complete all work, with every promise kept.
"""

import asyncio
import hashlib
import random
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from segue.kernel.kernel import Kernel
from segue.model.channel import Stored
from segue.store.migrate import migrate
from segue.testing.inline_sqlite import InlineSqlite
from tests.simulation import checks, observer
from tests.simulation.actors import EPOCH_MS, AgentLog, HostClock, LossyChannel, Post, WaywardAgent
from tests.simulation.clients import Clients
from tests.simulation.loop import Fate, Host, SimulatedLoop
from tests.simulation.plan import Plan, draw
from tests.simulation.wire import QUICK, NetworkFaults, Server, at_once

AUDIT_EVERY = 8.0
REST_WITHIN = 300.0
"""Seconds after the last fault in which everything must have ended."""


@dataclass
class Machine:
    """A host with the kernel that runs on it."""

    host: Host
    kernel: Kernel
    clock: HostClock
    running: asyncio.Task[None] | None = None
    stopping: bool = False
    troubles: list[float] = field(default_factory=list)
    """When it was disturbed."""

    @property
    def up(self) -> bool:
        return self.host.fate is Fate.ALIVE and not self.stopping


@dataclass
class Report:
    """The result of a scenario. `wrong` is empty when all is well."""

    seed: int
    wrong: list[str] = field(default_factory=list)
    trace: str = ""
    seconds: float = 0.0
    commits: int = 0
    attempts: int = 0
    acts: int = 0
    """Replies to jobs that were done at once."""
    unwanted: int = 0
    """Slots that quiet hours or conditions kept from running, and answers that had to wait."""


class Scenario:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rng = random.Random(f"play {plan.seed}")
        # Abstract methods for sockets and signals are not needed here.
        self.loop = SimulatedLoop(random.Random(f"order {plan.seed}"))  # type: ignore[abstract]
        self.database = _database()
        self.server = Server(self.database, self.loop, random.Random(f"wire {plan.seed}"), NetworkFaults())
        self.server.on_fault = self._in_trouble
        longest = plan.settings.lease_seconds * 2
        self.agent_log = AgentLog(self.loop, random.Random(f"agents {plan.seed}"), longest=longest)
        self.agent_log.excused = self._excused
        self.agent_log.in_trouble = self._in_trouble
        self.post = Post(random.Random(f"post {plan.seed}"))
        self.clients = Clients(self)
        self.machines: list[Machine] = []
        self.wrong: list[str] = []

    async def run(self) -> None:
        lease_ms = round(self.plan.settings.lease_seconds * 1000)
        await self.database.run(lambda: observer.begin(lease_ms=lease_ms))
        for _ in range(self.plan.hosts):
            self.boot()
        for moment, act in sorted(self._script(), key=lambda line: line[0]):
            await self._pass_time(moment)
            act()
        await self._pass_time(self.plan.seconds)
        self._rest()
        await self._come_to_rest()
        self.wrong += await checks.final(self)

    def _script(self) -> list[tuple[float, Any]]:
        rng, plan = self.rng, self.plan
        script: list[tuple[float, Any]] = [
            (rng.uniform(0, plan.seconds), self.clients.act) for _ in range(plan.verbs)
        ]
        faults = sorted(plan.faults)
        script += [
            (rng.uniform(0, plan.seconds), getattr(self, f"_{rng.choice(faults)}"))
            for _ in range(plan.fault_count)
        ]
        audits = int(plan.seconds // AUDIT_EVERY)
        return script + [(number * AUDIT_EVERY, self._audit) for number in range(1, audits + 1)]

    async def _pass_time(self, until: float) -> None:
        await asyncio.sleep(max(0.0, until - self.loop.time()))

    # The machines

    def boot(self) -> Machine:
        host = Host(self.loop, f"host{len(self.machines) + 1}")
        clock = HostClock(self.loop, self.furthest_ms if self.resting else 0)
        agent = WaywardAgent(self.agent_log, host, reports_tools=self.plan.reports_tools)
        kernel = Kernel(
            self.server.wire(host),
            agent=agent,
            channels=(
                LossyChannel("chat", self.post, idempotent=False),
                LossyChannel("tele", self.post, idempotent=True),
                Stored("web"),
            ),
            functions={"tidy": agent.tidy},
            settings=self.plan.settings,
            clock=clock,
            rng=random.Random(f"{host.name} {self.plan.seed}"),
            name=host.name,
        )
        machine = Machine(host, kernel, clock)
        machine.running = host.start(self._run(machine))
        self.machines.append(machine)
        return machine

    async def _run(self, machine: Machine) -> None:
        async with machine.kernel as kernel:
            await kernel.run()

    def up(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.up]

    def anyone(self) -> Machine | None:
        up = self.up()
        return self.rng.choice(up) if up else None

    def now_ms(self) -> int:
        return EPOCH_MS + round(self.loop.time() * 1000)

    def _boot_later(self) -> None:
        if not self.resting:
            self.boot()

    # The nemesis

    resting = False
    furthest_ms = 0

    def _kill(self) -> None:
        if victim := self.anyone():
            victim.host.kill()
            self.loop.call_later(self.rng.uniform(0, 10), self._boot_later, context=self.server.context)

    def _freeze(self) -> None:
        if victim := self.anyone():
            victim.host.freeze()
            asleep = self.rng.uniform(0.1, 3 * self.plan.settings.lease_seconds)
            lease = self.plan.settings.lease_seconds
            victim.troubles += [self.loop.time() + nap for nap in range(0, round(asleep), round(lease))]
            self.loop.call_later(asleep, self._thaw, victim, context=self.server.context)

    def _thaw(self, victim: Machine) -> None:
        if victim.host.fate is Fate.FROZEN:
            self._in_trouble(victim.host)
            victim.host.thaw()

    def _stop(self) -> None:
        victim = self.anyone()
        if victim and victim.running:
            victim.stopping = True
            victim.running.cancel()
            self.loop.call_later(self.rng.uniform(0, 10), self._boot_later, context=self.server.context)

    def _storm(self) -> None:
        faults = self.server.faults
        faults.lost_before, faults.lost_after = self.rng.uniform(0, 0.2), self.rng.uniform(0, 0.2)
        self.loop.call_later(self.rng.uniform(0.5, 8), self._calm, context=self.server.context)

    def _slow(self) -> None:
        self.server.faults.longest_trip = self.rng.choice((0.1, 0.5, 2.0))
        self.loop.call_later(self.rng.uniform(0.5, 8), self._calm, context=self.server.context)

    def _calm(self) -> None:
        faults = self.server.faults
        faults.lost_before = faults.lost_after = 0
        faults.longest_trip = QUICK

    def _jump(self) -> None:
        far = self.rng.choice((1, 5, 60, 3600))
        by = round(self.rng.uniform(-far, far) * 1000)
        machines = self.up() if self.rng.random() < 0.5 else [self.anyone()]
        for machine in machines:
            if machine is not None:
                machine.clock.offset_ms += by
                self.furthest_ms = max(self.furthest_ms, machine.clock.offset_ms)

    def _in_trouble(self, host: Host) -> None:
        self._of(host).troubles.append(self.loop.time())

    def _of(self, host: Host) -> Machine:
        return next(machine for machine in self.machines if machine.host is host)

    def _excused(self, host: Host) -> bool:
        return self.excused(host.name, self.loop.time())

    def excused(self, name: str, at: float) -> bool:
        """The machine of that name was disturbed not long before, so its leases may have run out."""
        machine = next(machine for machine in self.machines if machine.host.name == name)
        if machine.host.fate is not Fate.ALIVE:
            return True
        while_it_lasts = 2 * self.plan.settings.lease_seconds + 2
        return any(trouble <= at <= trouble + while_it_lasts for trouble in machine.troubles)

    # The end

    def _rest(self) -> None:
        self.resting = True
        self._calm()
        for machine in self.machines:
            # What was promised by a clock that ran ahead comes due when the others have got there.
            machine.clock.offset_ms = self.furthest_ms
            if machine.host.fate is Fate.FROZEN:
                self._thaw(machine)
        healthy = self.up()
        if not healthy:
            self.boot()
        for machine in healthy[self.plan.survivors :]:
            machine.host.kill()

    async def _come_to_rest(self) -> None:
        deadline = self.loop.time() + REST_WITHIN
        quiet_since = self.loop.time()
        # Wait a while: a client's last request may still be on the wire.
        while self.loop.time() < quiet_since + 3:
            await asyncio.sleep(1)
            if open_work := await checks.open_work(self.database):
                quiet_since = self.loop.time()
            if self.loop.time() > deadline:
                self.wrong.append(f"not at rest long after the last fault: {open_work}")
                return

    def _audit(self) -> None:
        self.wrong += at_once(checks.between(self))


@cache
def _database() -> InlineSqlite:
    """One database for all scenarios of this process."""
    database = InlineSqlite.open()
    at_once(migrate(database))
    at_once(database.run(observer.install))
    return database


def run_scenario(seed: int, **otherwise: Any) -> Report:
    """Run a scenario from its seed; `otherwise` replaces parts of the plan that the seed draws."""
    scenario = Scenario(replace(draw(seed), **otherwise))
    try:
        scenario.loop.run(scenario.run())
    except AssertionError as error:
        scenario.wrong.append(f"{type(error).__name__}: {error}")
    trace = hashlib.sha256("\n".join(scenario.server.trace).encode())
    trace.update(repr(at_once(checks.everything(scenario.database))).encode())
    report = Report(
        seed=seed,
        wrong=scenario.wrong + scenario.agent_log.wrong + scenario.clients.wrong + scenario.post.wrong,
        trace=trace.hexdigest(),
        seconds=scenario.loop.time(),
        commits=scenario.server.commits,
        attempts=len(scenario.agent_log.attempts),
        acts=scenario.clients.acts,
        unwanted=at_once(checks.unwanted(scenario.database)),
    )
    scenario.loop.bury([machine.host for machine in scenario.machines])
    return report
