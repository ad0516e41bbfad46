"""From a URL to an open database with its schema up to date."""

from pathlib import Path

from segue.errors import BadSetting
from segue.store.database import Database
from segue.store.migrate import migrate

_EXAMPLES = "'sqlite:///agent.db', 'sqlite://:memory:' or 'postgresql://user@host/name'"
_MEMORY = ":memory:"


async def open_database(url: str) -> Database:
    database = await connect(url)
    try:
        await migrate(database)
    except BaseException:
        await database.close()
        raise
    return database


async def connect(url: str) -> Database:
    """The database as it is; its schema may be older than this version, or missing."""
    scheme, found, place = url.partition("://")
    if scheme == "sqlite" and found:
        from segue.store.sqlite.database import Sqlite

        return await Sqlite.open(_MEMORY if place == _MEMORY else str(_file(place)))
    if scheme in ("postgresql", "postgres") and found:
        from segue.store.postgres.database import Postgres

        return await Postgres.open(url)
    raise BadSetting(f"a database is {_EXAMPLES}; got a URL that begins with {scheme[:20]!r}")


def sqlite_file(url: str) -> Path | None:
    """The file that a URL names; None when it names something else."""
    scheme, _, place = url.partition("://")
    return _file(place) if scheme == "sqlite" and place != _MEMORY else None


def _file(place: str) -> Path:
    path = place.removeprefix("/")
    if not path:
        raise BadSetting(f"sqlite:// needs a file, for example {_EXAMPLES}")
    return Path(path)
