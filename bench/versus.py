"""Compares this tree with an earlier commit: turns per second, both measured in one run, alternately.

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

from bench.environment import Environment, open_environment
from bench.figure import Figure, compared, table
from bench.measure import alternate

HERE = Path(__file__).parents[1]
KINDS = {"users": "users' turns", "scheduled": "scheduled turns"}
"""The name of each kind of turn on the command line and in the table."""
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
    with checkout(options.commit) as earlier, open_environment(short=False) as env:
        figures = [
            _figure(env, earlier, kind, database, options.rounds)
            for database in ("SQLite", "PostgreSQL")
            for kind in KINDS
        ]
    print(table(figures))
    print(f"\nours: this tree; peer: {options.commit}; median of {options.rounds} alternating rounds")
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


def _figure(env: Environment, earlier: Path, kind: str, database: str, rounds: int) -> Figure:
    def measure(tree: Path) -> float:
        if database == "SQLite":
            with env.folder() as folder:
                return _measure_tree(tree, kind, f"sqlite:///{folder}/segue.db")
        with env.database() as url:
            return _measure_tree(tree, kind, url)

    comparison = alternate(rounds, lambda: measure(HERE), lambda: measure(earlier))
    return compared(f"{database}: {KINDS[kind]}", "turns/s", comparison, None)


def _measure_tree(tree: Path, kind: str, url: str) -> float:
    env = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{HERE}"}
    command = [sys.executable, "-m", "bench.versus", "this", "--measure", kind, url]
    return float(subprocess.run(command, check=True, env=env, capture_output=True, text=True).stdout)


async def _measure(kind: str, url: str) -> float:
    """Turns per second: stores all messages or due jobs, then runs the workers until the last turn."""
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
        if kind == "scheduled":
            await asyncio.sleep(max(0.0, (soon - datetime.now(UTC)).total_seconds()))
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await ended.wait()
            running.cancel()
        return SESSIONS * EACH / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
