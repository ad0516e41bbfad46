"""Migrations: applied once, whole and in order, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from segue.errors import SchemaTooNew, StoreUnusable
from segue.store.database import Database, Transaction
from segue.store.migrate import MIGRATIONS, Status, load, migrate, status
from segue.store.queries import translate
from segue.store.settings import DEFAULTS, StoreSettings
from segue.testing.inline_sqlite import InlineSqlite
from tests.store.schema_text import schema_of

FIRST = """
-- What is to be remembered; and where.
CREATE TABLE notes (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('short', 'long')), -- not a colour;
    place TEXT
) /*pg WITH (fillfactor = 80) */;

/*pg
CREATE INDEX notes_by_place_and_kind ON notes (place, kind);
CREATE INDEX notes_only_here ON notes (kind);
*/
CREATE INDEX notes_by_place ON notes (place);
"""
SECOND = "ALTER TABLE notes ADD COLUMN colour TEXT;\n"
FILL = """
CREATE VIEW shown AS SELECT id FROM notes;
CREATE TABLE copies (id TEXT);
INSERT INTO notes (id, kind) VALUES ('a', 'short');
INSERT INTO copies (id) SELECT id FROM shown;
"""
BROKEN = "CREATE TABLE drafts (id TEXT);\nINSERT INTO nowhere (id) VALUES ('x');\n"

record = translate(
    "schema.record",
    "INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES (:version, :name, 'x', 0)",
)
forget = translate("schema.forget", "DELETE FROM schema_migrations WHERE version = :version")
copied = translate("test.copied", "SELECT id FROM copies")
when_applied = translate("schema.when", "SELECT applied_at FROM schema_migrations ORDER BY version")


@pytest.fixture
async def database(bare_url: str) -> AsyncIterator[Database]:
    """A database without a schema, on either kind."""
    opened = await _open(bare_url)
    yield opened
    await opened.close()


async def _open(url: str, settings: StoreSettings = DEFAULTS) -> Database:
    if url.startswith("sqlite"):
        from segue.store.sqlite.database import Sqlite

        return await Sqlite.open(url.removeprefix("sqlite:///"), settings)
    from segue.store.postgres.database import Postgres

    return await Postgres.open(url, settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "README.md").write_text("what is not numbered is not read")
    return written(folder, first=FIRST)


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        number = len(list(folder.glob("*.sql"))) + 1
        (folder / f"{number:04}_{name}.sql").write_text(text)
    return folder


async def do(database: Database, query: str, **params: str | int) -> None:
    def transaction() -> Transaction[None]:
        yield {"record": record, "forget": forget}[query], params

    await database.run(transaction)


async def test_what_is_pending_is_applied_once(database: Database, folder: Path) -> None:
    assert await status(database, folder) == Status([], ["0001_first"])
    assert await migrate(database, folder, now_ms=77) == ["0001_first"]
    assert await migrate(database, folder, now_ms=88) == []
    written(folder, second=SECOND)
    assert await status(database, folder) == Status(["0001_first"], ["0002_second"])
    assert await migrate(database, folder, now_ms=99) == ["0002_second"]
    assert await status(database, folder) == Status(["0001_first", "0002_second"], [])
    assert [row["applied_at"] for row in await database.read(when_applied, {})] == [77, 99]


async def test_step_by_step_and_all_at_once_make_the_same_schema(database: Database, folder: Path) -> None:
    empty = await schema_of(database)
    await migrate(database, folder, now_ms=1)
    first = await schema_of(database)
    written(folder, second=SECOND)
    await migrate(database, folder, now_ms=2)
    second = await schema_of(database)
    assert len({empty, first, second}) == 3
    if database.dialect == "sqlite":
        at_once = InlineSqlite.open()
        await migrate(at_once, folder, now_ms=3)
        assert await schema_of(at_once) == second
        await at_once.close()


async def test_a_schema_lists_columns_checks_and_indexes(database: Database, folder: Path) -> None:
    await migrate(database, folder, now_ms=1)
    schema = await schema_of(database)
    assert "column notes.kind text not null" in schema
    assert "'long'" in schema
    assert "notes_by_place" in schema
    assert ("notes_only_here" in schema) == (database.dialect == "postgres")


async def test_a_statement_sees_what_the_one_before_it_wrote(database: Database, folder: Path) -> None:
    """Also if it reads through a view."""
    written(folder, fill=FILL)
    await migrate(database, folder, now_ms=1)
    assert [row["id"] for row in await database.read(copied, {})] == ["a"]


async def test_a_migration_that_fails_leaves_nothing(database: Database, folder: Path) -> None:
    await migrate(database, folder, now_ms=1)
    before = await schema_of(database)
    written(folder, broken=BROKEN, never=SECOND)
    with pytest.raises(
        StoreUnusable, match=r"0002_broken could not be applied, and nothing of it was.*nowhere"
    ):
        await migrate(database, folder, now_ms=2)
    assert await schema_of(database) == before
    assert await status(database, folder) == Status(["0001_first"], ["0002_broken", "0003_never"])


async def test_what_was_begun_by_hand_is_refused(database: Database, folder: Path) -> None:
    await migrate(database, folder, now_ms=1)
    await do(database, "forget", version=1)
    before = await schema_of(database)
    with pytest.raises(StoreUnusable, match=r"0001_first could not be applied.*already exists"):
        await migrate(database, folder, now_ms=2)
    assert await schema_of(database) == before


async def test_a_database_from_the_future_is_refused(database: Database, folder: Path) -> None:
    await migrate(database, folder, now_ms=1)
    await do(database, "record", version=2, name="0002_flying_cars")
    with pytest.raises(SchemaTooNew, match=r"0002_flying_cars.*upgrade"):
        await migrate(database, folder, now_ms=2)
    with pytest.raises(SchemaTooNew):
        await status(database, folder)


async def test_a_migration_that_was_edited_is_refused(database: Database, folder: Path) -> None:
    await migrate(database, folder, now_ms=1)
    (folder / "0001_first.sql").write_text(FIRST + SECOND)
    with pytest.raises(StoreUnusable, match="0001_first was changed after it was applied"):
        await migrate(database, folder, now_ms=2)


async def test_a_gap_in_the_record_is_refused(database: Database, folder: Path) -> None:
    written(folder, second=SECOND)
    await migrate(database, folder, now_ms=1)
    await do(database, "forget", version=1)
    with pytest.raises(StoreUnusable, match=r"0001_first was changed .* or its record was"):
        await migrate(database, folder, now_ms=2)


async def test_of_two_processes_that_start_at_once_one_applies(bare_url: str, folder: Path) -> None:
    written(folder, second=SECOND)
    both = [await _open(bare_url) for _ in range(2)]
    applied = await asyncio.gather(*(migrate(each, folder, now_ms=1) for each in both))
    for each in both:
        await each.close()
    assert sorted(name for names in applied for name in names) == ["0001_first", "0002_second"]


async def test_a_migration_has_no_time_limit(bare_url: str, folder: Path) -> None:
    """Processes that start during it wait for it: there may be very many rows."""
    hasty = StoreSettings(command_seconds=0.2, patience_seconds=0.2, check_seconds=0.2)
    written(folder, slow="/*pg SELECT pg_sleep(1) *//*lite SELECT 1 */;")
    both = [await _open(bare_url, hasty) for _ in range(2)]
    applied = await asyncio.gather(*(migrate(each, folder) for each in both))
    for each in both:
        await each.close()
    assert sorted(name for names in applied for name in names) == ["0001_first", "0002_slow"]


def test_the_released_migrations_are_numbered_without_a_gap() -> None:
    numbers = [migration.version for migration in load(MIGRATIONS)]
    assert numbers == [*range(1, len([*MIGRATIONS.glob("*.sql")]) + 1)]


def test_the_released_migrations_have_no_parameters() -> None:
    """They would get no values."""
    both = [translate(each.name, each.text) for each in load(MIGRATIONS)]
    assert [query.name for query in both if query.parameters or "?" in query.positional] == []


def test_only_a_semicolon_ends_a_statement(folder: Path) -> None:
    text = (
        "INSERT INTO notes VALUES ('it''s; -- \"', ';'); -- here; and\n"
        "SELECT 1; SELECT 2 /* the\n"
        "end; */; -- not said"
    )
    (migration,) = load(folder)
    statements = [query.sqlite for query in replace(migration, text=text).statements("sqlite")]
    assert statements == [
        "INSERT INTO notes VALUES ('it''s; -- \"', ';')",
        "SELECT 1",
        "SELECT 2",
    ]


def test_line_endings_do_not_change_a_migration(folder: Path) -> None:
    before = load(folder)
    (folder / "0001_first.sql").write_bytes(FIRST.replace("\n", "\r\n").encode())
    assert load(folder) == before


async def test_the_released_migrations_apply(database: Database) -> None:
    names = [migration.name for migration in load(MIGRATIONS)]
    assert await migrate(database, now_ms=1) == names
    assert "column sessions.id text" in await schema_of(database)
