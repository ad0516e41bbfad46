"""The bare SQLite loop of the benchmark uses the kernel's own statements, so it must change with them."""

from pathlib import Path

import pytest

from bench.peers.bare_sqlite import Turns, run


@pytest.mark.parametrize(
    "turns",
    [
        Turns(sessions=5, each=2, group=3),
        Turns(sessions=5, each=2, group=3, scheduled=True),
        Turns(sessions=5, each=1, group=3, scheduled=True, due=True),
    ],
    ids=["users", "scheduled", "due"],
)
def test_the_bare_loop_runs_every_turn(tmp_path: Path, turns: Turns) -> None:
    assert run(tmp_path, turns).count == turns.total
