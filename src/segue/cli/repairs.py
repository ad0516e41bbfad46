"""What `segue doctor --repair` mends: a list of repairs, each a function that says what it did.

A repair changes only what can be told for certain from what is stored, in transactions of its own. It may run
beside a server.
"""

from collections.abc import Awaitable, Callable

from segue.cli.checkup import Finding, State, listed
from segue.cli.house import refuse_missing
from segue.clock import SystemClock
from segue.configuration import Configuration
from segue.errors import NotFound, SegueError
from segue.memory import counts
from segue.store.migrate import status
from segue.store.opening import connect
from segue.store.store import Store


async def repair(configuration: Configuration) -> list[Finding]:
    """Do all repairs; what each did. One that cannot be done does not stop the others."""
    findings: list[Finding] = []
    for each in REPAIRS:
        try:
            findings += await each(configuration)
        except SegueError as error:
            findings.append(Finding("repair", State.WRONG, str(error)))
    return findings


async def rebuild_counts(configuration: Configuration) -> list[Finding]:
    """The counts of sessions whose log says otherwise."""
    refuse_missing(configuration)
    database = await connect(configuration.database_url)
    try:
        if (await status(database)).pending:
            return []  # the examination says so
        store = Store(database, SystemClock(database.wall_ms))
        mended: list[str] = []
        for session_id in await store.with_wrong_counts():
            try:
                if await store.commit(counts.rebuild, session_id, database.wall_ms()):
                    mended.append(session_id)
            except NotFound:  # deleted meanwhile
                continue
    finally:
        await database.close()
    words = f"the counts were rebuilt of {listed(mended)}" if mended else "no session has wrong counts"
    return [Finding("repair", State.OK, words)]


REPAIRS: tuple[Callable[[Configuration], Awaitable[list[Finding]]], ...] = (rebuild_counts,)
