"""An agent blocks the event loop of its process for longer than its lease.

Nothing in that process can renew the lease or stop the agent. Another worker runs the turn again, other
sessions are served by it meanwhile, and what the blocked agent says when it wakes is refused.
"""

from pathlib import Path

from segue.model.states import Outcome
from tests.crash.figures import Record
from tests.crash.journal import Did
from tests.crash.processes import LONG, over, processes
from tests.eventually import eventually

LEASE = 2.0
BLOCKED_SECONDS = 60 if LONG else 6
OTHERS = 10


async def test_a_blocked_event_loop_loses_its_turn_and_nothing_else(
    database_url: str, tmp_path: Path, figure: Record
) -> None:
    async with (
        processes(database_url, tmp_path, lease=LEASE) as several,
        several.successor("door") as kernel,
    ):
        blocked, go = several.start(user_runners=4), several.gate()
        healthy = several.start(user_runners=4, go=go)
        await several.ready(blocked, healthy)
        turn = (await kernel.receive("web:blocked", f"block {BLOCKED_SECONDS * 1000}")).turn_id
        begun = await eventually(lambda: several.journal.entries(Did.STARTED), "it blocks")
        go.touch()
        others = [(await kernel.receive(f"web:{n}", "answer")).turn_id for n in range(OTHERS)]
        for each in others:
            assert (await over(kernel, each)).outcome is Outcome.OK
        ended = await over(kernel, turn)
        assert (ended.outcome, ended.attempt, ended.reply) == (Outcome.OK, 2, "One two.")
        woken = await eventually(
            lambda: [e for e in several.journal.entries(Did.ENDED, Did.CANCELLED) if e.pid == blocked.pid],
            "the blocked agent wakes",
            within=BLOCKED_SECONDS + 60,
        )
        again = (await kernel.receive("web:blocked", "answer")).turn_id
        assert (await over(kernel, again)).outcome is Outcome.OK
        assert await kernel.turns.get(turn) == ended, "the blocked agent changed it when it woke"
        assert not blocked.has_ended()
        assert not await kernel.audit()
        second = next(
            e for e in several.journal.entries(Did.LEASED) if e.turn == turn and e.pid != blocked.pid
        )
    figure(
        f"blocked for {BLOCKED_SECONDS} s, taken over after, lease {LEASE:g} s",
        f"{second.at - begun[0].at:.1f} s",
    )
    figure("the blocked agent and its successor at work at the same time", f"{woken[0].at - second.at:.0f} s")
