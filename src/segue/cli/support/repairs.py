"""Repairs of `segue doctor --repair`: a list of functions, each of which says what it changed.

A repair changes only what can be derived for certain from what is stored, in transactions of its own. It may
run beside a server.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from segue.cli.support.checks import Finding, State, listed
from segue.cli.support.open_kernel import refuse_missing
from segue.config import Configuration
from segue.errors import NotFound, SegueError
from segue.kernel.transactions import archive
from segue.store.migrate import status
from segue.store.open import connect, sqlite_file
from segue.store.sqlite.permissions import close_to_others, open_to_others
from segue.store.store import Store
from segue.times.clock import SystemClock


async def repair(configuration: Configuration) -> list[Finding]:
    """Run all repairs and return what each did. A repair that fails does not stop the others."""
    findings: list[Finding] = []
    for each in REPAIRS:
        try:
            findings += await each(configuration)
        except SegueError as error:
            findings.append(Finding("repair", State.WRONG, str(error)))
    return findings


async def close_files(configuration: Configuration) -> list[Finding]:
    """Make the database's files readable by their owner only."""
    database = sqlite_file(configuration.database_url)
    return [] if database is None else [_close_file(file) for file in open_to_others(database)]


def _close_file(file: Path) -> Finding:
    try:
        close_to_others(file)
    except OSError as error:
        words = f"{file} could not be closed to other users: {(error.strerror or str(error)).lower()}"
        return Finding("files", State.WRONG, f"{words}; its owner can")
    return Finding("files", State.OK, f"{file} was open to other users; now only its owner reads it")


async def rebuild_counts(configuration: Configuration) -> list[Finding]:
    """Rebuild the counts of sessions whose log says otherwise."""
    refuse_missing(configuration)
    database = await connect(configuration.database_url)
    try:
        if (await status(database)).pending:
            return []  # the examination says so
        store = Store(database, SystemClock(database.wall_ms))
        rebuilt: list[str] = []
        for session_id in await store.with_wrong_counts():
            try:
                if await store.commit(archive.recount, session_id, database.wall_ms()):
                    rebuilt.append(session_id)
            except NotFound:  # the session was deleted in between
                continue
    finally:
        await database.close()
    words = f"the counts were rebuilt of {listed(rebuilt)}" if rebuilt else "no session has wrong counts"
    return [Finding("repair", State.OK, words)]


REPAIRS: tuple[Callable[[Configuration], Awaitable[list[Finding]]], ...] = (close_files, rebuild_counts)
