"""Turns per second of 1, 2 and 4 worker processes on one PostgreSQL.

Ten turns wait in each of 1,000 sessions. The processes have the database open and start at the same moment.
More processes than cores show what sharing costs, not what another machine brings.
"""

import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic

from bench.environment import Environment
from bench.figure import Figure
from bench.workloads.turns import SESSIONS, users_turns
from segue import Kernel
from segue.cli.support import event_loop
from segue.kernel.transactions.lane import Pool
from segue.testing import ScriptedAgent
from tests.eventually import eventually

COUNTS = (1, 2, 4)
LOOK_SECONDS = 0.1
WITHIN_SECONDS = 600.0


def processes(env: Environment) -> Iterator[Figure]:
    turns = env.size(10, short=2) * SESSIONS
    rates: dict[int, list[float]] = {count: [] for count in COUNTS}
    for _ in range(env.rounds):
        for count in COUNTS:
            with env.database() as url:
                rates[count].append(_rate(url, count, turns))
    alone = statistics.median(rates[1])
    for count in COUNTS:
        ours = statistics.median(rates[count])
        yield Figure(
            workload=f"PostgreSQL: users' turns, {count} process{'es' * (count > 1)}; peer: one process",
            unit="turns/s",
            ours=ours,
            peer=alone,
            ratio=ours / alone,
        )


def _rate(url: str, count: int, turns: int) -> float:
    with ExitStack() as stack:
        event_loop.run(_fill(url, turns))
        workers = [stack.enter_context(_worker(url)) for _ in range(count)]
        assert [_line(worker) for worker in workers] == ["ready"] * count
        begun = monotonic()
        for worker in workers:
            assert worker.stdin is not None  # it is a pipe
            worker.stdin.write("go\n")
            worker.stdin.flush()
        event_loop.run(_drained(url))
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.close()
        ran, last = zip(*(_line(worker).split() for worker in workers), strict=True)
        assert sum(map(int, ran)) == turns
        return turns / (max(map(float, last)) - begun)


def _worker(url: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bench.worker", url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _line(worker: "subprocess.Popen[str]") -> str:
    assert worker.stdout is not None  # it is a pipe
    return worker.stdout.readline().strip()


async def _fill(url: str, turns: int) -> None:
    async with Kernel(url, agent=ScriptedAgent()) as kernel:
        await users_turns(kernel, turns)


async def _drained(url: str) -> None:
    async with Kernel(url, agent=ScriptedAgent()) as kernel:

        async def nothing_is_ready() -> bool:
            return await kernel.store.next_ready(Pool.USER) is None

        async def nothing_is_held() -> bool:
            return not any(session.busy for session in await kernel.sessions.list(limit=SESSIONS))

        # The first is one index entry, so that looking costs nothing while turns run.
        await eventually(nothing_is_ready, "no lane is ready", within=WITHIN_SECONDS, every=LOOK_SECONDS)
        await eventually(nothing_is_held, "no lane is held", within=WITHIN_SECONDS, every=LOOK_SECONDS)
        assert not (broken := await kernel.audit()), f"the audit found {broken}"
