"""A database that Segue must not write to: the process says so in one sentence, ends, and changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg

from segue.store.open import open_database
from tests.crash.processes import processes

CONTENTS = """
SELECT table_name, column_name, data_type
FROM information_schema.columns
WHERE table_schema = 'public'
ORDER BY table_name, column_name
"""


async def complaint(url: str, folder: Path) -> str:
    """What a worker says that cannot start."""
    async with processes(url, folder) as refused:
        worker = refused.start(listen=True)
        assert await worker.death() == 1
        return worker.complaint.strip()


async def told_and_untouched(url: str, folder: Path, *made: str) -> str:
    """Make what is there, let a worker be refused, and see that nothing has changed."""
    connection = await asyncpg.connect(url)
    try:
        for statement in made:
            await connection.execute(statement)
        before = await connection.fetch(CONTENTS)
        said = await complaint(url, folder)
        assert await connection.fetch(CONTENTS) == before
    finally:
        await connection.close()
    assert "\n" not in said
    return said


async def test_a_postgres_with_the_sessions_of_another_program_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    said = await told_and_untouched(
        postgres_url, tmp_path, "CREATE TABLE sessions (sid TEXT PRIMARY KEY, payload TEXT)"
    )
    assert "sessions" in said
    assert "already exists" in said


async def test_a_postgres_with_the_migrations_of_another_program_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    said = await told_and_untouched(
        postgres_url, tmp_path, "CREATE TABLE schema_migrations (version VARCHAR PRIMARY KEY)"
    )
    assert "schema_migrations" in said


NEWER = "INSERT INTO schema_migrations VALUES (999, '0999_tomorrow', 'x', 0)"


async def test_a_postgres_that_a_newer_segue_wrote_is_refused(postgres_url: str, tmp_path: Path) -> None:
    await (await open_database(postgres_url)).close()
    said = await told_and_untouched(postgres_url, tmp_path, NEWER)
    assert "a newer Segue wrote it" in said
    assert "0999_tomorrow" in said


async def test_a_file_that_a_newer_segue_wrote_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "segue.db"
    await (await open_database(f"sqlite:///{file}")).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(NEWER)
    before = file.read_bytes()
    said = await complaint(f"sqlite:///{file}", tmp_path)
    assert file.read_bytes() == before
    assert "a newer Segue wrote it" in said
