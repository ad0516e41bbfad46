"""kill -9 at twelve points of a turn: a user's turn and a job's, each in a process of its own.

Whatever the point, the turn has one end, the session has one closure, and a tool never ran twice.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from segue.kernel.kernel import Kernel
from segue.kernel.transactions.unified import KEY
from segue.model.action import Ask
from segue.model.states import Outcome, TurnState
from segue.times.clock import to_moment
from segue.times.trigger import At
from tests.crash.figures import Record, p99
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.kill_switch import Point
from tests.crash.processes import LONG, Processes, Worker, first_run, processes, running
from tests.eventually import eventually

ROUNDS, PAIRS = (5, 5) if LONG else (1, 1)
"""A pair is two kills: one in a user's turn, one in a job's."""

LEASE = 1.0

End: TypeAlias = tuple[TurnState, Outcome | None, int]

RUN_ONCE: End = (TurnState.DONE, Outcome.OK, 1)
RUN_AGAIN: End = (TurnState.DONE, Outcome.OK, 2)
CLOSED: End = (TurnState.FAILED, Outcome.INTERRUPTED, 1)

ENDS = {
    Point.BEFORE_THE_CLAIM_COMMITS: RUN_ONCE,
    Point.AFTER_THE_CLAIM_COMMITS: RUN_AGAIN,
    Point.BEFORE_THE_AGENT_STARTS: RUN_AGAIN,
    Point.AFTER_THE_FIRST_WORD: RUN_AGAIN,
    Point.DURING_A_RENEWAL: RUN_AGAIN,
    Point.BEFORE_THE_TOOL_IS_NOTED: RUN_AGAIN,
    Point.AFTER_THE_TOOL_IS_NOTED: CLOSED,
    Point.WHILE_THE_TOOL_RUNS: CLOSED,
    Point.BEFORE_THE_END: CLOSED,
    Point.INSIDE_THE_END: CLOSED,
    Point.AFTER_THE_END_COMMITS: RUN_ONCE,
    Point.AFTER_THE_END: RUN_ONCE,
}


@pytest.mark.parametrize("point", Point)
async def test_a_worker_killed_at_this_point_leaves_one_end(
    database_url: str, tmp_path: Path, point: Point, figure: Record
) -> None:
    takeovers: list[float] = []
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with (
            processes(database_url, folder, lease=LEASE) as doomed,
            doomed.successor() as kernel,
        ):
            await _kill_in_pairs(doomed, kernel, point, f"web:{number}")
            takeovers += _takeovers(doomed)
    if takeovers:
        figure(f"{len(takeovers)} takeovers, lease {LEASE} s, p99", f"{p99(takeovers):.2f} s")


@pytest.mark.parametrize(
    "point", [Point.AFTER_THE_CLAIM_COMMITS, Point.AFTER_THE_TOOL_IS_NOTED, Point.INSIDE_THE_END]
)
async def test_a_worker_killed_in_unified_mode_leaves_one_end_in_both_logs(
    database_url: str, tmp_path: Path, point: Point
) -> None:
    async with (
        processes(database_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor(unified_session=True) as kernel,
    ):
        worker = doomed.start(point=point, runners=0)
        await doomed.ready(worker)
        admitted = await kernel.receive("web:1", "tool")
        await _all_die(doomed, [worker])
        async with running(kernel):
            turn = await kernel.wait(admitted)
        assert (turn.state, turn.outcome, turn.attempt) == ENDS[point]
        shown = [message.content for message in await kernel.messages("web:1")]
        assert shown == [message.content for message in await kernel.messages(KEY)]
        assert shown[0] == "tool"
        assert len(shown) == 2
        assert not await kernel.audit()


@pytest.mark.parametrize(
    "point", [Point.BEFORE_THE_CLAIM_COMMITS, Point.AFTER_THE_CLAIM_COMMITS, Point.INSIDE_THE_END]
)
async def test_a_worker_killed_in_a_turn_that_replaces_another_leaves_one_version(
    database_url: str, tmp_path: Path, point: Point
) -> None:
    async with processes(database_url, tmp_path, lease=LEASE) as doomed, doomed.successor() as kernel:
        async with doomed.successor("first") as earlier, running(earlier):
            first = await earlier.wait(await earlier.receive("web:1", "answer"))
        worker = doomed.start(point=point, runners=0)
        await doomed.ready(worker)
        admitted = await kernel.receive("web:1", "tool", replaces=first.id)
        await _all_die(doomed, [worker])
        started = point is not Point.BEFORE_THE_CLAIM_COMMITS
        assert await kernel.turns.replaced_by(first.id) == (admitted.turn_id if started else None)
        async with running(kernel):
            turn = await kernel.wait(admitted)
        assert (turn.state, turn.outcome, turn.attempt) == ENDS[point]
        standing = [message.content for message in await kernel.log.newest("web:1")]
        assert standing[0] == "tool"
        assert len(standing) == 2
        assert await kernel.turns.replaced_by(first.id) == turn.id
        assert not await kernel.audit()


async def _kill_in_pairs(doomed: Processes, kernel: Kernel, point: Point, key: str) -> None:
    go, over = doomed.gate(), doomed.gate()
    work = f"wait {over}" if point is Point.DURING_A_RENEWAL else "tool"
    workers = [doomed.start(point=point, runners=0, go=go) for _ in range(PAIRS)]
    workers += [doomed.start(point=point, user_runners=0, go=go) for _ in range(PAIRS)]
    await doomed.ready(*workers)
    users = [await kernel.receive(f"{key}-user-{pair}", work) for pair in range(PAIRS)]
    jobs = [await kernel.schedule(f"{key}-job-{pair}", At(_soon(kernel)), Ask(work)) for pair in range(PAIRS)]
    go.touch()
    starved = await _all_die(doomed, workers)
    over.touch()
    async with running(kernel):
        ends = [await _one_end(kernel, admitted.turn_id) for admitted in users]
        ends += [await _one_end(kernel, await _turn_of(kernel, job.id)) for job in jobs]
    entries = doomed.journal.entries()
    assert not fences_out_of_order(entries)
    assert not await kernel.audit()
    if not starved:
        assert set(ends) == {ENDS[point]}
        assert not overlaps(entries)
        acts = [entry.turn for entry in entries if entry.did is Did.ACTED]
        assert len(acts) == len(set(acts)), "a tool ran twice"


def _soon(kernel: Kernel) -> datetime:
    return to_moment(kernel.clock.ms()) + timedelta(milliseconds=500)


async def _all_die(doomed: Processes, workers: list[Worker]) -> bool:
    """Whether one of them has lost its lane to another first, as may happen on a starved machine."""
    pids = {worker.pid for worker in workers}

    def starved() -> bool:
        return any(entry.pid in pids for entry in doomed.journal.entries(Did.RESCUED))

    await eventually(lambda: all(worker.has_ended() for worker in workers) or starved(), "all have ended")
    for worker in workers:
        if not worker.has_ended():
            await worker.kill()
        assert await worker.death() == -9
    return starved()


async def _one_end(kernel: Kernel, turn_id: str) -> End:
    turn = await kernel.wait(turn_id)
    session = await kernel.store.session_by_id(turn.session_id)
    closures = [message for message in await kernel.messages(session.key) if message.role == "assistant"]
    assert len(closures) == 1
    if turn.run_id is not None:
        assert (await kernel.store.run(turn.run_id)).outcome is turn.outcome
    return turn.state, turn.outcome, turn.attempt


async def _turn_of(kernel: Kernel, job_id: str) -> str:
    run = await first_run(kernel, job_id)
    assert run.turn_id is not None
    return run.turn_id


def _takeovers(doomed: Processes) -> list[float]:
    """Seconds from each kill until the lane of the killed worker was reclaimed."""
    entries = doomed.journal.entries()
    died = {entry.pid: entry.at for entry in entries if entry.did is Did.DIED}
    owner = {entry.session: entry.pid for entry in entries if entry.did is Did.LEASED and entry.pid in died}
    rescued = [entry for entry in entries if entry.did is Did.RESCUED and entry.session in owner]
    return [entry.at - died[owner[entry.session]] for entry in rescued]
