"""Several processes on one store: they may start in the same moment, and one may join while another works."""

from pathlib import Path

from segue.model.states import Outcome
from segue.store import queries
from tests.crash.journal import Did
from tests.crash.processes import LONG, over, processes
from tests.eventually import eventually
from tests.postgres import empty_database

ROUNDS = 20 if LONG else 2
AT_ONCE = 3


async def test_processes_that_start_at_once_on_an_empty_store_make_one_schema(
    bare_url: str, tmp_path: Path
) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with processes(await _emptied(bare_url, folder), folder) as together:
            opens = together.gate()
            workers = [together.start(opens=opens) for _ in range(AT_ONCE)]
            opens.touch()
            await together.ready(*workers)
            async with together.successor() as kernel:
                admitted = await kernel.receive("web:1", "answer")
                turn = await over(kernel, admitted.turn_id)
                assert (turn.outcome, turn.attempt) == (Outcome.OK, 1)
                applied = await kernel.store.database.read(queries.schema.applied, {})
                assert len({row["version"] for row in applied}) == len(applied) > 0
            assert not any(worker.has_ended() for worker in workers)


async def _emptied(url: str, folder: Path) -> str:
    if url.startswith("sqlite"):
        return f"sqlite:///{folder}/segue.db"
    await empty_database(url)
    return url


async def test_a_process_that_joins_during_a_turn_does_not_run_it_again(
    database_url: str, tmp_path: Path
) -> None:
    async with processes(database_url, tmp_path, lease=1.0) as both, both.successor("door") as kernel:
        end = both.gate()
        long = await kernel.receive("web:long", f"wait {end}")
        both.start()
        await eventually(lambda: bool(both.journal.entries(Did.STARTED)), "the turn is under way")
        # The first worker has one slot, so whatever else is answered, the second one has answered.
        both.start()
        quick = [await kernel.receive(f"web:{n}", "work 500") for n in range(4)]
        for admitted in quick:
            assert (await over(kernel, admitted.turn_id)).outcome is Outcome.OK
        end.touch()
        turn = await over(kernel, long.turn_id)
        assert (turn.outcome, turn.attempt) == (Outcome.OK, 1)
        started = [entry.turn for entry in both.journal.entries(Did.STARTED)]
        assert started.count(long.turn_id) == 1
        assert not await kernel.audit()
