"""A limit of all processes holds over several workers, also when one of them is killed."""

from functools import partial
from pathlib import Path

import pytest

from segue.model.states import Outcome
from tests.crash.journal import Did, Entry
from tests.crash.processes import LONG, over, processes
from tests.eventually import eventually

MOST = 2
MESSAGES = 200 if LONG else 16


def most_at_once(entries: list[Entry]) -> int:
    running: dict[str, int] = {}
    most = 0
    for entry in entries:
        match entry.did:
            case Did.STARTED:
                running[entry.turn] = entry.pid
                most = max(most, len(running))
            case Did.ENDED | Did.CANCELLED:
                running.pop(entry.turn, None)
            case Did.DIED:
                running = {turn: pid for turn, pid in running.items() if pid != entry.pid}
    return most


@pytest.mark.parametrize(("total", "of_model"), [(MOST, 0), (0, MOST)], ids=["total", "model"])
async def test_a_limit_holds_over_workers_and_a_killed_one_frees_its_part(
    database_url: str, tmp_path: Path, total: int, of_model: int
) -> None:
    async with processes(database_url, tmp_path, lease=1.0) as several, several.successor("door") as kernel:
        never = several.gate()
        stuck = [await kernel.receive(f"web:stuck{n}", f"wait {never}") for n in range(MOST)]
        start = partial(several.start, user_runners=4, max_running_turns=total, max_running_default=of_model)
        doomed = start()
        await eventually(lambda: len(several.journal.entries(Did.STARTED)) == MOST, "the limit is reached")
        workers = [start() for _ in range(3)]
        await several.ready(*workers)
        waiting = [await kernel.receive(f"web:{n}", "work 20") for n in range(MESSAGES)]
        await doomed.kill()
        never.touch()
        for admitted in (*stuck, *waiting):
            assert (await over(kernel, admitted.turn_id)).outcome is Outcome.OK
        entries = several.journal.entries()
        assert most_at_once(entries) == MOST
        assert len({entry.pid for entry in entries if entry.did is Did.STARTED}) > 1
        assert not await kernel.audit()
