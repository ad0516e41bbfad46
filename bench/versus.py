"""Compare this tree with an earlier commit: turns per second, both measured in one run, in turn.

    python -m bench.versus d68c35a [--rounds 5]

The earlier commit is checked out into a temporary work tree. Each measurement is a process of its own that
imports `segue` from one of the two trees and uses only its public names, so the trees may differ inside.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figure import Figure, compared, table
from bench.measure import alternate
from bench.room import Room, room

HERE = Path(__file__).parents[1]
KINDS = ("users", "scheduled")
SESSIONS = 1_000
EACH = 10
RUNNERS = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.versus", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(asyncio.run(_measure(*options.measure)))
        return 0
    with checkout(options.commit) as there, room(short=False) as here:
        figures = [
            _figure(here, there, kind, database, options.rounds)
            for database in ("SQLite", "PostgreSQL")
            for kind in KINDS
        ]
    print(table(figures))
    print(f"\nours: this tree; peer: {options.commit}; median of {options.rounds} rounds, in turn")
    return 0


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="segue-versus-") as folder:
        tree = Path(folder, "tree")
        git = ("git", "-C", str(HERE), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _figure(here: Room, there: Path, kind: str, database: str, rounds: int) -> Figure:
    def measured(tree: Path) -> float:
        if database == "SQLite":
            with here.folder() as folder:
                return _measured_by(tree, kind, f"sqlite:///{folder}/segue.db")
        with here.database() as url:
            return _measured_by(tree, kind, url)

    taken = alternate(rounds, lambda: measured(HERE), lambda: measured(there))
    return compared(f"{database}: {kind}' turns", "turns/s", taken, None)


def _measured_by(tree: Path, kind: str, url: str) -> float:
    env = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{HERE}"}
    command = [sys.executable, "-m", "bench.versus", "this", "--measure", kind, url]
    return float(subprocess.run(command, check=True, env=env, capture_output=True, text=True).stdout)


async def _measure(kind: str, url: str) -> float:
    """Turns per second: all of them are admitted first, then the workers run until the last has ended."""
    from segue import Ask, At, Kernel, OpenTurn, Settings

    keys = [f"websocket:{number}" for number in range(SESSIONS)]
    left, ended = SESSIONS * EACH, asyncio.Event()

    async def agent(turn: OpenTurn) -> AsyncIterator[str]:
        nonlocal left
        left -= 1
        if not left:
            ended.set()
        yield "ok"

    async with Kernel(url, agent=agent, settings=Settings(user_runners=RUNNERS, runners=RUNNERS)) as kernel:
        soon = datetime.now(UTC) + timedelta(seconds=30)
        for _ in range(EACH):
            if kind == "users":
                await asyncio.gather(*(kernel.receive(key, "go on") for key in keys))
            else:
                await asyncio.gather(*(kernel.schedule(key, At(soon), Ask("go on")) for key in keys))
        await asyncio.sleep(
            max(0.0, (soon - datetime.now(UTC)).total_seconds()) if kind == "scheduled" else 0
        )
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await ended.wait()
            running.cancel()
        return SESSIONS * EACH / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
