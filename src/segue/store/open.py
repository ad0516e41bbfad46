"""Opens a database from its URL and migrates its schema."""

from pathlib import Path

from segue.errors import BadSetting
from segue.store.database import Database
from segue.store.migrate import migrate
from segue.store.settings import DEFAULTS, StoreSettings

_EXAMPLES = "'sqlite:///agent.db', 'sqlite://:memory:' or 'postgresql://user@host/name'"
_MEMORY = ":memory:"


async def open_database(url: str, settings: StoreSettings = DEFAULTS) -> Database:
    """The database with its schema up to date. `BadSetting` for a URL of another kind."""
    database = await connect(url, settings)
    try:
        await migrate(database)
    except BaseException:
        await database.close()
        raise
    return database


async def connect(url: str, settings: StoreSettings = DEFAULTS) -> Database:
    """The database without migrating it: its schema may be older than this version, or missing."""
    scheme, separator, path = url.partition("://")
    if scheme == "sqlite" and separator:
        from segue.store.sqlite.database import Sqlite

        return await Sqlite.open(_MEMORY if path == _MEMORY else str(_file(path)), settings)
    if scheme in ("postgresql", "postgres") and separator:
        from segue.store.postgres.database import Postgres

        return await Postgres.open(url, settings)
    raise BadSetting(f"a database is {_EXAMPLES}; got a URL that begins with {scheme[:20]!r}")


def sqlite_file(url: str) -> Path | None:
    """The file that a URL names; None when it names something else."""
    scheme, _, path = url.partition("://")
    return _file(path) if scheme == "sqlite" and path != _MEMORY else None


def _file(path: str) -> Path:
    path = path.removeprefix("/")
    if not path:
        raise BadSetting(f"sqlite:// needs a file, for example {_EXAMPLES}")
    return Path(path)
