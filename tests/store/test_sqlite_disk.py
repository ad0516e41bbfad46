"""A disk that is full or read-only: callers get an error, nothing half-done stays, and it recovers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.errors import StoreUnavailable
from segue.store.database import Database
from segue.store.last_write import Reason, try_to_write
from segue.store.open import open_database
from segue.store.queries import translate
from segue.store.sqlite.database import Sqlite
from tests import disks
from tests.disks import needs_root
from tests.store.sqlite_process import adding, make_notes, notes

pytestmark = needs_root

check = translate("notes.check", "SELECT * FROM pragma_integrity_check")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small_disk(tmp_path, megabytes=4) as disk:
        yield disk


async def write_until_it_fails(database: Database, promised: list[str]) -> None:
    for number in range(1_000):
        await database.run(adding(f"{number:04}", "x" * 10_000))
        promised.append(f"{number:04}")


async def test_a_full_disk_is_reported_until_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2_000_000)
    database = await Sqlite.open(str(small_disk / "segue.db"))
    await database.run(make_notes)
    promised: list[str] = []
    with pytest.raises(StoreUnavailable, match=r"segue\.db.*disk is full"):
        await write_until_it_fails(database, promised)

    assert await notes(database) == promised
    outcomes = await asyncio.gather(
        *(database.run(adding(f"also {number}", "x" * 10_000)) for number in range(5)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}

    ballast.unlink()
    await database.run(adding("after"))
    assert await notes(database) == [*promised, "after"]
    assert [row["integrity_check"] for row in await database.read(check, {})] == ["ok"]
    await database.close()


def reason(database: Database) -> Reason | None:
    return database.last_write.reason


async def test_a_disk_counts_as_full_until_it_has_space_again(small_disk: Path) -> None:
    database = await open_database(f"sqlite:///{small_disk / 'segue.db'}")
    await database.run(make_notes)
    ballast = await asyncio.to_thread(disks.fill, small_disk)
    with pytest.raises(StoreUnavailable):
        await write_until_it_fails(database, [])
    assert reason(database) is Reason.DISK_FULL
    for number in range(3):  # they may fit in what a larger one has left
        await asyncio.gather(database.run(adding(f"small {number}")), return_exceptions=True)
        await asyncio.gather(try_to_write(database), return_exceptions=True)
        assert reason(database) is Reason.DISK_FULL
    ballast.unlink()
    await try_to_write(database)
    assert reason(database) is None
    await database.close()


async def test_files_that_became_read_only_are_known_and_come_back(tmp_path: Path) -> None:
    database = await open_database(f"sqlite:///{tmp_path / 'segue.db'}")
    await database.run(make_notes)
    with disks.read_only(tmp_path / "segue.db", tmp_path / "segue.db-wal"):
        with pytest.raises(StoreUnavailable, match="read-only"):
            await database.run(adding("not now"))
        assert reason(database) is Reason.READ_ONLY
        assert await notes(database) == []
        with pytest.raises(StoreUnavailable):
            await try_to_write(database)
        assert reason(database) is Reason.READ_ONLY
    await try_to_write(database)
    assert reason(database) is None
    await database.close()
