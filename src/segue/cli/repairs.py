"""What `segue doctor --repair` puts right. Each repair says what it has changed."""

from collections.abc import AsyncIterator, Callable

from segue.cli.checkup import Finding, State
from segue.configuration import Configuration
from segue.store.opening import sqlite_file
from segue.store.private_files import close_to_others, open_to_others


async def repair(configuration: Configuration) -> list[Finding]:
    return [finding for each in REPAIRS async for finding in each(configuration)]


async def _files(configuration: Configuration) -> AsyncIterator[Finding]:
    """The database's files, so that no other user of the machine can read them."""
    database = sqlite_file(configuration.database_url)
    for file in [] if database is None else open_to_others(database):
        try:
            close_to_others(file)
        except OSError as error:
            words = f"{file} could not be closed to other users: {(error.strerror or str(error)).lower()}"
            yield Finding("files", State.WRONG, f"{words}; its owner can")
        else:
            yield Finding("files", State.OK, f"{file} was open to other users; now only its owner reads it")


REPAIRS: tuple[Callable[[Configuration], AsyncIterator[Finding]], ...] = (_files,)
