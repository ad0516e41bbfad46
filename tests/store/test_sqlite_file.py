"""Which files are opened, and which are refused without changing a byte, in them or beside them."""

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from segue.errors import SchemaTooNew, StoreError, StoreUnusable
from segue.store.database import Transaction
from segue.store.migrate import migrate
from segue.store.queries import translate
from segue.store.sqlite.database import Sqlite
from segue.store.sqlite.file_identity import is_in_use_here

PAGE = 4096
ANOTHER_USER = 65_534

create = translate("notes.create", "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT)")
add = translate("notes.add", "INSERT INTO notes (note) VALUES (:note)")
every = translate("notes.every", "SELECT note FROM notes")


def make_notes() -> Transaction[None]:
    yield create, {}
    yield add, [{"note": "x" * 1000} for _ in range(100)]


async def _made_by_us(path: Path) -> None:
    database = await Sqlite.open(str(path))
    await database.run(make_notes)
    await database.close()
    for beside in ("segue.db.lock", "segue.db.next"):
        (path.parent / beside).unlink()


def ours(path: Path) -> None:
    asyncio.run(_made_by_us(path))


def overwrite(path: Path, at: int, with_: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(with_)


def a_text(path: Path) -> None:
    path.write_text("Diary,\n" * 500)


def a_torn_beginning(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\x10")


def another_programs(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()


def another_programs_empty_one(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 1234")
    connection.close()


def one_with_a_broken_header(path: Path) -> None:
    ours(path)
    overwrite(path, 0, b"\x00" * 16)


def one_with_a_senseless_header(path: Path) -> None:
    ours(path)
    overwrite(path, 16, b"\x00\x07")


def one_cut_in_half(path: Path) -> None:
    ours(path)
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


def one_with_a_broken_schema(path: Path) -> None:
    ours(path)
    overwrite(path, 100, b"\xff" * 1000)


REFUSED: Sequence[tuple[Callable[[Path], None], str]] = (
    (a_text, "is not a database"),
    (a_torn_beginning, "is not a database"),
    (another_programs, "another program"),
    (another_programs_empty_one, "another program"),
    (one_with_a_broken_header, "is not a database"),
    (one_with_a_senseless_header, "is not a database"),
    (one_cut_in_half, "is damaged"),
    (one_with_a_broken_schema, "is damaged"),
)


def everything_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def opened_and_closed(path: Path) -> None:
    async def open_and_close() -> None:
        database = await Sqlite.open(str(path))
        await database.close()

    asyncio.run(open_and_close())


@pytest.mark.parametrize(("make", "reason"), REFUSED, ids=lambda each: getattr(each, "__name__", None))
def test_a_file_that_is_not_segues_or_is_damaged_is_left_as_it_was(
    make: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "segue.db"
    make(path)
    before = everything_in(tmp_path)
    with pytest.raises(StoreUnusable, match=rf"segue\.db.*{reason}"):
        opened_and_closed(path)
    assert everything_in(tmp_path) == before


def test_the_log_of_another_program_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "segue.db"
    theirs = sqlite3.connect(path)
    theirs.execute("PRAGMA journal_mode = WAL")
    theirs.execute("CREATE TABLE bookmarks (url TEXT)")
    theirs.execute("PRAGMA wal_checkpoint")
    theirs.execute("INSERT INTO bookmarks (url) VALUES ('in the log')")
    theirs.commit()
    before = everything_in(tmp_path)
    with pytest.raises(StoreUnusable, match="another program"):
        opened_and_closed(path)
    assert everything_in(tmp_path) == before
    theirs.close()


def test_another_programs_tables_are_found_in_its_log_too(tmp_path: Path) -> None:
    """Its file looks empty until a checkpoint."""
    path = tmp_path / "segue.db"
    theirs = sqlite3.connect(path)
    theirs.execute("PRAGMA journal_mode = WAL")
    theirs.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match="another program"):
        opened_and_closed(path)
    assert path.read_bytes() == before
    theirs.close()


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="is a folder"):
        opened_and_closed(tmp_path)


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file")
    with pytest.raises(StoreUnusable, match=r"notes/segue\.db cannot be used: part of its path is a file"):
        opened_and_closed(tmp_path / "notes" / "segue.db")


def error_of_another_user(path: Path) -> str:
    """The error that a user without root's rights gets."""
    code = (
        "import asyncio, concurrent.futures.thread, os, sys\n"
        "from segue.store.sqlite.database import Sqlite\n"
        f"os.getuid() or os.setuid({ANOTHER_USER})\n"
        "try: asyncio.run(Sqlite.open(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A folder that all users can reach; by default they cannot reach a test's folder."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder.name.startswith(("pytest-", "popen-", "test_")):
            folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    return tmp_path


def test_a_file_that_may_not_be_written_is_left_as_it_was(public: Path) -> None:
    ours(public / "segue.db")
    (public / "segue.db").chmod(0o444)
    before = everything_in(public)
    message = error_of_another_user(public / "segue.db")
    assert message.startswith("StoreUnusable")
    assert "segue.db may not be written to" in message
    assert everything_in(public) == before


def test_a_folder_that_may_not_be_written_is_left_as_it_was(public: Path) -> None:
    ours(public / "segue.db")
    (public / "segue.db").chmod(0o666)
    public.chmod(0o555)
    before = everything_in(public)
    message = error_of_another_user(public / "segue.db")
    public.chmod(0o777)
    assert message.startswith("StoreUnusable")
    assert "needs a log beside it" in message
    assert everything_in(public) == before


def test_a_newer_schema_is_left_as_it_was(tmp_path: Path) -> None:
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    (migrations / "0001_first.sql").write_text("CREATE TABLE a (id TEXT);")
    (migrations / "0002_second.sql").write_text("CREATE TABLE b (id TEXT);")
    place = tmp_path / "place"
    path = place / "segue.db"

    async def migrated() -> None:
        database = await Sqlite.open(str(path))
        try:
            await migrate(database, migrations)
        finally:
            await database.close()

    asyncio.run(migrated())
    for beside in ("segue.db.lock", "segue.db.next"):
        (place / beside).unlink()
    (migrations / "0002_second.sql").unlink()
    before = everything_in(place)
    with pytest.raises(SchemaTooNew, match=r"0002_second.*upgrade"):
        asyncio.run(migrated())
    assert everything_in(place) == before


async def test_damage_that_is_found_later_is_reported(tmp_path: Path) -> None:
    await _made_by_us(tmp_path / "segue.db")
    overwrite(tmp_path / "segue.db", 5 * PAGE, b"\xff" * 5 * PAGE)
    database = await Sqlite.open(str(tmp_path / "segue.db"))
    with pytest.raises(StoreUnusable, match="restore it from a backup"):
        await database.read(every, {})

    def look() -> Transaction[None]:
        yield every, {}

    with pytest.raises(StoreUnusable, match="restore it from a backup"):
        await database.run(look)
    await database.close()


@pytest.mark.parametrize("name", ["segue.db", "new/er/segue.db", "file:odd?name#%41.db", "umlaut ä.db"])
def test_a_missing_file_is_made_with_its_folder(name: str, tmp_path: Path) -> None:
    ours_now = tmp_path / name
    opened_and_closed(ours_now)
    assert ours_now.read_bytes().startswith(b"SQLite format 3")
    opened_and_closed(ours_now)


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    (tmp_path / "segue.db").touch()
    opened_and_closed(tmp_path / "segue.db")
    assert (tmp_path / "segue.db").stat().st_size > 0


def test_opening_a_segue_file_changes_nothing(tmp_path: Path) -> None:
    ours(tmp_path / "segue.db")
    before = everything_in(tmp_path)
    opened_and_closed(tmp_path / "segue.db")
    assert everything_in(tmp_path) == before


def test_a_relative_path_stays_where_it_was_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def move_after_opening() -> None:
        database = await Sqlite.open("segue.db")
        os.chdir("/")
        await database.run(make_notes)
        await database.close()

    monkeypatch.chdir(tmp_path)
    asyncio.run(move_after_opening())
    assert (tmp_path / "segue.db.lock").exists()


async def test_a_lock_file_that_cannot_be_opened_is_reported_until_it_can(tmp_path: Path) -> None:
    database = await Sqlite.open(str(tmp_path / "segue.db"))
    (tmp_path / "segue.db.lock").mkdir()
    with pytest.raises(StoreError, match=r"segue\.db could not be locked"):
        await database.run(make_notes)
    (tmp_path / "segue.db.lock").rmdir()
    await database.run(make_notes)
    await database.close()


async def test_an_opening_that_fails_half_way_leaves_nothing_open(tmp_path: Path) -> None:
    """It fails at another step with each descriptor that the process may open."""
    path = tmp_path / "segue.db"
    await _made_by_us(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    failed = 0
    for limit in range(lowest_free_descriptor(), soft):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            database = await Sqlite.open(str(path))
        except (OSError, StoreError):
            failed += 1
        else:
            await database.close()
            break
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert not is_in_use_here(str(path)), failed
        assert not [link for link in open_files() if link.startswith(str(path))], failed
    assert failed > 3


def lowest_free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def open_files() -> list[str]:
    return [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
