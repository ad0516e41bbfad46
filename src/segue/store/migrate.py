"""Migrations: numbered files that bring a database to the schema this version needs.

`migrations/0002_name.sql` holds statements for both databases (see `queries.py`), each ended by a semicolon.
A released file is never edited: its hash is recorded in the databases it was applied to.

Invariants
  - a migration and the row that records it commit together, or not at all
  - of several processes that start at once, one applies it
  - the recorded migrations must be a prefix of the known ones; any other database is refused unchanged
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from segue.errors import SchemaTooNew, StoreError, StoreUnavailable, StoreUnusable
from segue.record import positional
from segue.store import queries
from segue.store.database import Database, Rows, Transaction
from segue.store.queries import Query, translate

MIGRATIONS = Path(__file__).with_name("migrations")

_FILE = re.compile(r"(\d{4})_\w+\.sql")
_QUOTED = r"""(?P<quoted>'[^']*'|"[^"]*")"""
_QUOTED_OR_COMMENT = re.compile(rf"{_QUOTED}|--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED_OR_SEMICOLON = re.compile(rf"{_QUOTED}|\bBEGIN\b.*?\bEND\b|;", re.DOTALL)
"""The body of a trigger is between BEGIN and END: its semicolons do not end the statement."""


@positional
class Migration:
    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    def statements(self, dialect: str) -> Iterator[Query]:
        both = translate(self.name, self.text)
        for statement in _split(both.sqlite if dialect == "sqlite" else both.postgres):
            yield translate(self.name, statement)


@positional
class Status:
    """The names of a database's applied and pending migrations."""

    applied: list[str]
    pending: list[str]


async def migrate(
    database: Database,
    folder: Path = MIGRATIONS,
    *,
    now_ms: int | None = None,
    applying: Callable[[str], None] = lambda name: None,
) -> list[str]:
    """Apply pending migrations, each in its own transaction. Returns the names of those applied here.

    `applying` is called with the name of each migration before it is applied.
    Raises `SchemaTooNew` or `StoreUnusable`; a migration that fails changes nothing.
    """
    known = load(folder)
    now = database.wall_ms() if now_ms is None else now_ms
    # An up-to-date database is only read: no write, no lock.
    to_apply = pending(known, await _recorded(database))
    applied = []
    for each in to_apply:
        applying(each.name)
        if await _apply_whole(database, each, known, now):
            applied.append(each.name)
    return applied


async def status(database: Database, folder: Path = MIGRATIONS) -> Status:
    known = load(folder)
    to_apply = [migration.name for migration in pending(known, await _recorded(database))]
    names = [migration.name for migration in known]
    return Status(names[: len(names) - len(to_apply)], to_apply)


def load(folder: Path) -> list[Migration]:
    """The migrations of a folder. They are numbered from 1 without a gap."""
    # Read as text: other line endings must not change the hash.
    return [
        Migration(int(match.group(1)), file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if (match := _FILE.fullmatch(file.name))
    ]


def pending(known: Sequence[Migration], recorded: Rows) -> Sequence[Migration]:
    """The known migrations that follow the recorded ones. Raises `SchemaTooNew` or `StoreUnusable`."""
    applied = {row["version"]: (row["name"], row["sha256"]) for row in recorded}
    newest = max(applied, default=0)
    if newest > len(known):
        raise SchemaTooNew(
            f"this database has had migration {applied[newest][0]}, and this Segue knows only "
            f"{len(known)}: a newer Segue wrote it; upgrade this one, nothing was changed"
        )
    for migration in known[:newest]:
        if applied.get(migration.version) != (migration.name, migration.sha256):
            raise StoreUnusable(
                f"{migration.name} was changed after it was applied to this database, or its record was: "
                "use the Segue that made it, or restore the database from a backup"
            )
    return known[newest:]


async def _recorded(database: Database) -> Rows:
    if not await database.read(queries.schema.is_there, {}):
        return []
    try:
        return await database.read(queries.schema.applied, {})
    except StoreUnavailable:
        raise
    except StoreError as error:
        # Other programs use the same table name.
        raise StoreUnusable(
            f"the table schema_migrations here is not Segue's own ({error}): "
            "give Segue a database of its own; nothing was changed"
        ) from error


async def _apply_whole(database: Database, migration: Migration, known: list[Migration], now: int) -> bool:
    try:
        return await database.run_alone(partial(_apply, migration, known, database.dialect, now))
    except (SchemaTooNew, StoreUnavailable, StoreUnusable):
        raise
    except StoreError as error:
        raise StoreUnusable(
            f"{migration.name} could not be applied, and nothing of it was: {error}. "
            "If it was begun by hand, restore the database from a backup"
        ) from error


def _apply(migration: Migration, known: list[Migration], dialect: str, now: int) -> Transaction[bool]:
    yield queries.schema.lift_time_limits, {}
    yield queries.schema.lock, {}
    yield queries.schema.create, {}
    recorded = yield queries.schema.applied, {}
    if migration not in pending(known, recorded):
        # Another process has applied it.
        return False
    for statement in migration.statements(dialect):
        yield statement, {}
    yield (
        queries.schema.record,
        {"version": migration.version, "name": migration.name, "sha256": migration.sha256, "now": now},
    )
    return True


def _split(text: str) -> Iterator[str]:
    """The statements of a text. Comments are removed first, because they may contain semicolons."""
    bare = _QUOTED_OR_COMMENT.sub(lambda match: match.group("quoted") or " ", text)
    start = 0
    for match in _QUOTED_OR_SEMICOLON.finditer(f"{bare};"):
        if match.group() == ";":
            if statement := bare[start : match.start()].strip():
                yield statement
            start = match.end()
