"""A SQLite file that is deleted or replaced while it is open: later writes are not acknowledged."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from segue.errors import DatabaseGone
from segue.store.last_write import Reason, try_to_write
from segue.store.sqlite.database import Sqlite
from tests.store.sqlite_process import adding, make_notes, notes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "segue.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Sqlite]:
    database = await Sqlite.open(str(path))
    await database.run(make_notes)
    await database.run(adding("before"))
    yield database
    await database.close()


def deleted(path: Path) -> None:
    path.unlink()


def moved_away(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replaced_by_another(path: Path) -> None:
    other = sqlite3.connect(path.with_name("other.db"))
    other.execute("CREATE TABLE others (id TEXT)")
    other.close()
    path.with_name("other.db").replace(path)


def replaced_by_its_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def folder_deleted(path: Path) -> None:
    shutil.rmtree(path.parent)


def log_deleted(path: Path) -> None:
    path.with_name("segue.db-wal").unlink()


WAYS = (deleted, moved_away, replaced_by_another, replaced_by_its_copy, folder_deleted, log_deleted)


@pytest.mark.parametrize("lose", WAYS, ids=lambda lose: lose.__name__)
async def test_nothing_is_acknowledged_after_the_file_is_gone(
    database: Sqlite, path: Path, lose: Callable[[Path], None]
) -> None:
    lose(path)
    outcomes = await asyncio.gather(
        *(database.run(adding(f"after {number}")) for number in range(5)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {DatabaseGone}
    assert "was deleted or replaced while Segue was using it" in str(outcomes[0])
    with pytest.raises(DatabaseGone, match="restore it and start again"):
        await database.run(adding("much later"))
    with pytest.raises(DatabaseGone):
        await notes(database)
    assert database.last_write.reason is Reason.DATABASE_GONE
    with pytest.raises(DatabaseGone):
        await try_to_write(database)


@pytest.mark.parametrize("lose", WAYS, ids=lambda lose: lose.__name__)
async def test_the_next_poll_finds_it_when_nothing_is_written(
    database: Sqlite, path: Path, lose: Callable[[Path], None]
) -> None:
    rung = asyncio.Event()
    async with database.watch(rung.set), asyncio.timeout(60):
        lose(path)
        await rung.wait()
    with pytest.raises(DatabaseGone):
        await notes(database)


async def test_what_was_acknowledged_before_is_in_the_file_that_was_moved(path: Path, tmp_path: Path) -> None:
    database = await Sqlite.open(str(path))
    await database.run(make_notes)
    await database.run(adding("before"))
    moved_away(path)
    with pytest.raises(DatabaseGone):
        await database.run(adding("after"))
    await database.close()
    moved = await Sqlite.open(str(tmp_path / "moved.db"))
    assert "before" in await notes(moved)
    await moved.close()


async def test_the_log_that_stays_behind_does_not_spoil_the_file_that_is_put_in_its_place(path: Path) -> None:
    database = await Sqlite.open(str(path))
    await database.run(make_notes)
    await database.close()
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)
    database = await Sqlite.open(str(path))
    await database.run(adding("lost with its file"))
    deleted(path)
    with pytest.raises(DatabaseGone):
        await database.run(adding("after"))
    await database.close()
    backup.replace(path)
    restored = await Sqlite.open(str(path))
    assert await notes(restored) == []
    await restored.close()


async def test_a_deleted_log_loses_no_acknowledged_write(path: Path) -> None:
    database = await Sqlite.open(str(path))
    await database.run(make_notes)
    await database.run(adding("before"))
    log_deleted(path)
    with pytest.raises(DatabaseGone, match=r"segue\.db-wal was deleted"):
        await database.run(adding("after"))
    await database.close()
    again = await Sqlite.open(str(path))
    assert "before" in await notes(again)
    await again.close()


async def test_a_second_handle_in_this_process_does_not_release_the_locks_of_the_first(path: Path) -> None:
    """Otherwise another process would believe to be the last, and delete the log when it closes the file."""
    first = await Sqlite.open(str(path))
    await first.run(make_notes)
    second = await Sqlite.open(str(path))
    elsewhere = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM notes'); c.close()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", elsewhere, str(path)], check=True)
    await first.run(adding("still there"))
    assert "still there" in await notes(second)
    await first.close()
    await second.close()
