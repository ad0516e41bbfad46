"""Repairs of `segue doctor --repair`: plans them, so that the operator can be asked, and makes them.

They may run beside a server.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from segue.cli.support.checks import HORIZON_MS, Finding, State, listed, open_to_others
from segue.cli.support.open_kernel import refuse_missing
from segue.cli.support.progress import Tell
from segue.config import Configuration
from segue.errors import NotFound, SegueError
from segue.kernel.transactions.repairs import REPAIRS, RepairTerms
from segue.record import positional
from segue.store.migrate import status
from segue.store.open import connect, sqlite_file
from segue.store.sqlite.permissions import FILE_MODE
from segue.store.store import Store
from segue.times.clock import SystemClock


@positional
class PlannedRepair:
    words: str
    """What it will do."""
    make: Callable[[], Awaitable[Finding]]


async def plan(configuration: Configuration) -> list[PlannedRepair]:
    """The repairs that are possible. Changes nothing."""
    return [*_files(configuration), *await _invariants(configuration)]


async def make(planned: list[PlannedRepair], tell: Tell) -> list[Finding]:
    """Make the repairs and return what each did. A repair that fails does not stop the others."""
    findings: list[Finding] = []
    for number, each in enumerate(planned, start=1):
        tell(f"Repair {number} of {len(planned)}")
        try:
            findings.append(await each.make())
        except SegueError as error:
            findings.append(Finding("repair", State.WRONG, str(error)))
    return findings


def _files(configuration: Configuration) -> list[PlannedRepair]:
    database = sqlite_file(configuration.database_url)
    files = [] if database is None else open_to_others(database)
    return [PlannedRepair(f"close {file} to other users", partial(_close_file, file)) for file in files]


async def _close_file(file: Path) -> Finding:
    try:
        _close_to_others(file)
    except OSError as error:
        words = f"{file} could not be closed to other users: {(error.strerror or str(error)).lower()}"
        return Finding("files", State.WRONG, f"{words}; its owner can")
    return Finding("files", State.OK, f"{file} was open to other users; now only its owner reads it")


def _close_to_others(file: Path) -> None:
    file.chmod(FILE_MODE)


async def _invariants(configuration: Configuration) -> list[PlannedRepair]:
    """None if the database is missing or of another version: the checks report that."""
    try:
        async with _store(configuration) as store:
            if (await status(store.database)).pending:
                return []
            broken = await store.audit(horizon=store.database.wall_ms() - HORIZON_MS)
    except SegueError:
        return []
    return [
        PlannedRepair(
            f"{_words(name)}: {REPAIRS[name].words}: {listed(ids)}",
            partial(_repair, configuration, name, ids),
        )
        for name, ids in broken.items()
        if name in REPAIRS
    ]


async def _repair(configuration: Configuration, name: str, ids: list[str]) -> Finding:
    """Repair the findings of one audit query, each in its own transaction."""
    repaired: list[str] = []
    async with _store(configuration) as store:
        for found_id in ids:
            terms = RepairTerms(
                now=store.database.wall_ms(), lease_now=store.lease_now(), horizon=store.horizon()
            )
            try:
                if await store.commit(REPAIRS[name].transaction, found_id, terms):
                    repaired.append(found_id)
            except NotFound:  # the session was deleted in between
                continue
    done = f"repaired: {listed(repaired)}" if repaired else "there was nothing to repair any more"
    return Finding("repair", State.OK, f"{_words(name)}: {done}")


@asynccontextmanager
async def _store(configuration: Configuration) -> AsyncIterator[Store]:
    refuse_missing(configuration)
    database = await connect(configuration.database_url)
    try:
        yield Store(database, SystemClock(database.wall_ms))
    finally:
        await database.close()


def _words(name: str) -> str:
    return name.replace("_", " ")
