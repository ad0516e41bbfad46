"""A worker to be killed: `python -m tests.crash.worker URL --journal FILE …`.

It runs a kernel on a database that others share. Its agent does what the message says and writes in the
journal what it does. Files tell it when to open the database and when to run, so that several can do it in
the same moment.
"""

import argparse
import asyncio
import ctypes
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from segue.errors import LeaseLost, SegueError
from segue.kernel.kernel import Kernel
from segue.kernel.transactions import lease, session_log, settle
from segue.kernel.transactions.lease import HeldLane
from segue.model import closure
from segue.model.agent import Delta, OpenTurn, ToolCalled, ToolStarted
from segue.model.cost.budget import Budget, BudgetUnit, Per
from segue.model.records import Event
from segue.model.settings import Settings
from segue.store import queries
from segue.store.database import Begin, Params, Transaction
from segue.store.open import open_database
from tests.crash.journal import Did, Journal
from tests.crash.kill_switch import KillSwitch, Point
from tests.eventually import eventually

_WITHIN_SECONDS = 600
_DIE_WITH_THE_PARENT = 1
"""prctl's PR_SET_PDEATHSIG."""


@dataclass
class JournalAgent:
    """The first word of a message is what to do: answer, wait FILE; work, tool or die, with the
    milliseconds to take for it; stop FILE: at its first attempt stop this process, then wait for the file;
    block: at its first attempt keep the event loop for so many milliseconds."""

    database: KillSwitch
    journal: Journal
    reports_tools: bool = True

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self.database.reached(Point.BEFORE_THE_AGENT_STARTS)
        held = self.database.held[turn.id]
        self._note(Did.STARTED, held)
        try:
            yield "One "
            self.database.reached(Point.AFTER_THE_FIRST_WORD)
            do, _, what = turn.text.partition(" ")
            if do == "tool":
                yield ToolStarted(call_id="1", name="touch")
                self._note(Did.ACTED, held)
                self.database.reached(Point.WHILE_THE_TOOL_RUNS)
                await asyncio.sleep(int(what or 0) / 1000)
                yield ToolCalled(call_id="1", name="touch", result="touched")
            if do == "stop" and turn.attempt == 1:
                await self._stop_between_writes(held)
            if do == "block" and turn.attempt == 1:
                threading.Event().wait(int(what) / 1000)
            await self._do(do, what)
            yield "two."
        except (asyncio.CancelledError, GeneratorExit):  # while it worked, or while its tool was being noted
            self._note(Did.CANCELLED, held)
            if turn.text.startswith("stop"):  # for longer than its lease, so the lane is another worker's
                await self._try_to_write_all_the_same(held)
            raise
        self._note(Did.ENDED, held)
        self.database.reached(Point.BEFORE_THE_END)

    async def _do(self, do: str, what: str) -> None:
        if do in ("wait", "stop"):
            await _appears(what)
        if do in ("work", "die"):
            await asyncio.sleep(int(what) / 1000)
        if do == "die":
            self.journal.write(Did.DIED, note="poison")
            os.kill(os.getpid(), signal.SIGKILL)

    async def _stop_between_writes(self, held: HeldLane) -> None:
        """Stop between two writes: a process stopped inside a write locks a SQLite file (another test)."""
        await eventually(lambda: not self.database.under_way, "no write is under way", every=0)
        self._note(Did.STOPPED, held)
        os.kill(os.getpid(), signal.SIGSTOP)

    async def _try_to_write_all_the_same(self, held: HeldLane) -> None:
        for name, write in _late_writes(held).items():
            try:
                written = await self.database.run(write)
            except LeaseLost:
                written = False
            self._note(Did.ACCEPTED if written else Did.REFUSED, held, note=name)

    def _note(self, did: Did, held: HeldLane, note: str = "") -> None:
        self.journal.write(did, session=held.session.id, turn=held.turn.id, fence=held.fence, note=note)


async def _appears(file: str) -> None:
    """Wait for a file, by which the test signals this process."""
    await eventually(lambda: os.path.exists(file), file, within=_WITHIN_SECONDS)


def _late_writes(held: HeldLane) -> dict[str, Begin[bool]]:
    mine: Params = {"id": held.session.id, "holder": held.holder, "fence": held.fence}
    word = Event(session_id=held.session.id, seq=0, type="message", at=0, turn_id=held.turn.id)

    def event() -> Transaction[bool]:
        return bool((yield from lease.append(held, [word])))

    def renewal() -> Transaction[bool]:
        return bool((yield queries.sessions.renew, {**mine, "lease_ms": 60_000, "lease_now": 0}))

    def draft() -> Transaction[bool]:
        return bool(
            (yield queries.turns.keep_draft, {"id": held.turn.id, "fence": held.fence, "draft": "late"})
        )

    def finish() -> Transaction[bool]:
        return bool((yield from settle.settle(held, closure.answered("late", {}), 0)))

    def release() -> Transaction[bool]:
        return bool((yield queries.sessions.release, {**mine, **session_log.NOTHING}))

    return {"event": event, "renewal": renewal, "draft": draft, "finish": finish, "release": release}


@asynccontextmanager
async def open_kernel(
    url: str, journal: Journal, settings: Settings, *, name: str, point: Point | None = None
) -> AsyncIterator[Kernel]:
    """A kernel whose agent writes the journal."""
    async with open_kernels(url, journal, settings, names=[name], point=point) as [kernel]:
        yield kernel


@asynccontextmanager
async def open_kernels(
    url: str, journal: Journal, settings: Settings, *, names: Sequence[str], point: Point | None = None
) -> AsyncIterator[list[Kernel]]:
    """Kernels that share the connections of this process."""
    async with AsyncExitStack() as stack:
        database = KillSwitch(await open_database(url), journal, point)
        stack.push_async_callback(database.close)
        agent = JournalAgent(database, journal)
        kernels = [Kernel(database, agent=agent, settings=settings, name=name) for name in names]
        yield [await stack.enter_async_context(kernel) for kernel in kernels]


async def work(options: argparse.Namespace) -> None:
    journal = Journal(Path(options.journal))
    if options.open:
        await _appears(options.open)
    settings = Settings(
        lease_seconds=options.lease,
        user_runners=options.user_runners,
        runners=options.runners,
        max_running_turns=options.max_running_turns,
        account_budget=_budget(options.account_runs),
        max_running_turns_by_model={"default": most} if (most := options.max_running_default) else None,
    )
    point = Point(options.point) if options.point else None
    names = [f"worker {os.getpid()}/{number}" for number in range(options.kernels)]
    async with open_kernels(options.url, journal, settings, names=names, point=point) as kernels:
        journal.write(Did.READY)
        if options.go:
            await _appears(options.go)
        async with asyncio.TaskGroup() as group:
            for kernel in kernels:
                group.create_task(kernel.run())


def _budget(runs: int) -> Budget | None:
    return Budget(BudgetUnit.RUNS, runs, Per.MONTH) if runs else None


def run_forked(arguments: Sequence[str]) -> None:
    """Run in a process that was forked from one that has imported this module."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    main([*arguments, "--parent", str(os.getppid())])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--journal", required=True)
    parser.add_argument("--parent", type=int, default=os.getppid(), help="end when this process is gone")
    parser.add_argument("--open", help="open the database when this file is there")
    parser.add_argument("--go", help="run when this file is there")
    parser.add_argument("--point", choices=[*Point])
    parser.add_argument("--lease", type=float, default=1.0)
    parser.add_argument("--user-runners", type=int, default=1)
    parser.add_argument("--runners", type=int, default=1)
    parser.add_argument("--max-running-turns", type=int, default=0)
    parser.add_argument("--kernels", type=int, default=1, help="how many kernels this process runs")
    parser.add_argument("--account-runs", type=int, default=0, help="the budget of each account for a month")
    parser.add_argument("--max-running-default", type=int, default=0)
    options = parser.parse_args(arguments)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_THE_PARENT, signal.SIGKILL)
    if os.getppid() != options.parent:
        sys.exit("the test that started this worker is gone")
    try:
        asyncio.run(work(options))
    except SegueError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
