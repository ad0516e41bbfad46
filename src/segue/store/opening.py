"""From a URL to an open database with its schema up to date."""

from segue.errors import BadSetting
from segue.store.database import Database
from segue.store.migrate import migrate

_EXAMPLES = "'sqlite:///agent.db', 'sqlite://:memory:' or 'postgresql://user@host/name'"


async def open_database(url: str) -> Database:
    database = await _connect(url)
    try:
        await migrate(database)
    except BaseException:
        await database.close()
        raise
    return database


async def _connect(url: str) -> Database:
    scheme, found, place = url.partition("://")
    if scheme == "sqlite" and found:
        from segue.store.sqlite import Sqlite

        path = place if place == ":memory:" else place.removeprefix("/")
        if not path:
            raise BadSetting(f"sqlite:// needs a file, for example {_EXAMPLES}")
        return await Sqlite.open(path)
    if scheme in ("postgresql", "postgres") and found:
        from segue.store.postgres import Postgres

        return await Postgres.open(url)
    raise BadSetting(f"a database is {_EXAMPLES}; got a URL that begins with {scheme[:20]!r}")
