"""A turn that takes its process down each time it is tried."""

from pathlib import Path

from segue.kernel.kernel import Kernel
from segue.model.states import Outcome, TurnState
from tests.crash.journal import Did
from tests.crash.processes import Processes, over, processes

LEASE = 3.0
"""A worker that cannot renew it in time counts as lost, too: a busy machine must not take so long."""


async def test_a_poison_turn_is_parked_and_the_others_go_on(database_url: str, tmp_path: Path) -> None:
    async with (
        processes(database_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door") as kernel,
    ):
        poison = await kernel.receive("web:poison", "die 0")
        waiting = await kernel.receive("web:poison", "answer")
        others = [await kernel.receive(f"web:{n}", "work 100") for n in range(3)]
        deaths = await _restart_until_over(doomed, kernel, poison.turn_id, slots=1)
        parked = await kernel.turns.get(poison.turn_id)
        assert (parked.state, parked.outcome) == (TurnState.FAILED, Outcome.INTERRUPTED)
        assert parked.error == "parked: its worker was lost 3 times in a row"
        for admitted in (waiting, *others):
            assert (await over(kernel, admitted.turn_id)).outcome is Outcome.OK
        assert deaths == 3
        started = [entry.turn for entry in doomed.journal.entries(Did.STARTED)]
        assert started.count(poison.turn_id) == 3
        closure = (await kernel.messages("web:poison"))[1]
        assert closure.content.startswith("This turn was interrupted: parked")
        assert not await kernel.audit()


async def test_turns_that_share_a_process_with_a_poison_turn_survive_it(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        processes(database_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door") as kernel,
    ):
        others = [await kernel.receive(f"web:{n}", "work 1500") for n in range(3)]
        poison = await kernel.receive("web:poison", "die 500")
        await _restart_until_over(doomed, kernel, poison.turn_id, slots=4)
        assert (await kernel.turns.get(poison.turn_id)).outcome is Outcome.INTERRUPTED
        for admitted in others:
            ended = await over(kernel, admitted.turn_id)
            assert (ended.outcome, ended.crashes) == (Outcome.OK, 2)
        assert not await kernel.audit()


async def _restart_until_over(doomed: Processes, kernel: Kernel, turn_id: str, *, slots: int) -> int:
    """As a supervisor does; how often it had to."""
    deaths = 0
    worker = doomed.start(user_runners=slots)
    while (await over(kernel, turn_id, unless=worker.has_ended)).outcome is None:
        assert await worker.death() == -9
        deaths += 1
        worker = doomed.start(user_runners=slots)
    return deaths
