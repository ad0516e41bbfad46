"""`segue db backup`: copies a database while it is in use, and the copy can be used in its place."""

import asyncio
import itertools
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from segue import Kernel, OpenTurn, Settings
from segue.cli.dump import dump_command
from segue.model.states import Outcome
from segue.store.sqlite import backup
from segue.store.sqlite.file import open_file
from tests.cli.process import Segue
from tests.cli.terminal import at_terminal
from tests.crash.processes import running
from tests.eventually import eventually
from tests.postgres import binaries, create_database, drop_database, in_database

SESSIONS = 5
SETTINGS = Settings(lease_seconds=1)


async def agent(turn: OpenTurn) -> str:
    return f"You said: {turn.text}"


class Restore:
    """Makes a database of a backup, as the guide says."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self.made: str | None = None

    async def __call__(self, file: Path) -> str:
        if self._url.startswith("sqlite"):
            restored = self._folder / "restored" / "segue.db"
            restored.parent.mkdir()
            shutil.copy(file, restored)
            return f"sqlite:///{restored}"
        self.made = f"segue_{uuid4().hex}"
        await create_database(self._url, self.made)
        url = in_database(self._url, self.made)
        command = [
            str(binaries() / "pg_restore"),
            "--no-owner",
            "--exit-on-error",
            f"--dbname={url}",
            str(file),
        ]
        await asyncio.to_thread(subprocess.run, command, check=True)
        return url


async def test_a_backup_during_a_storm_of_turns_has_no_gap_and_no_double(
    segue: Segue, database_url: str, tmp_path: Path
) -> None:
    segue.env = {"SEGUE_DATABASE": database_url, "PATH": f"{binaries()}:{os.environ['PATH']}"}
    acknowledged: list[str] = []

    async def talk(kernel: Kernel) -> None:
        for number in itertools.count():
            receipt = await kernel.receive(f"web:{number % SESSIONS}", f"message {number}")
            acknowledged.append(receipt.turn_id)
            await asyncio.sleep(0)

    async with (
        Kernel(database_url, agent=agent, settings=SETTINGS) as kernel,
        running(kernel),
        asyncio.TaskGroup() as group,
    ):
        talking = group.create_task(talk(kernel))
        await eventually(lambda: len(acknowledged) >= SESSIONS, "each session has a message")
        before = list(acknowledged)
        ended = await segue.process("db", "backup", "copy.backup")
        meanwhile = len(acknowledged) - len(before)
        talking.cancel()
    assert ended.code == 0, ended.err
    assert meanwhile > 0
    restore = Restore(tmp_path, database_url)
    try:
        await check(await restore(tmp_path / "copy.backup"), before)
    finally:
        if restore.made:
            await drop_database(database_url, restore.made)


async def check(url: str, before: list[str]) -> None:
    """Everything acknowledged before the backup is in it; what it holds runs to its end, once."""
    async with Kernel(url, agent=agent, settings=SETTINGS) as kernel:
        assert not await kernel.audit()

        async def is_quiet() -> bool:
            return not any(session.busy for session in await kernel.sessions.list())

        async with running(kernel):
            await eventually(is_quiet, "all turns of the backup have ended")
        assert not await kernel.audit()
        for number in range(SESSIONS):
            spoken = [message.content for message in await kernel.messages(f"web:{number}", limit=100_000)]
            asked = [content for content in spoken if content.startswith("message ")]
            assert asked == [f"message {nth}" for nth in range(number, SESSIONS * len(asked), SESSIONS)]
            assert len(set(spoken)) == len(spoken)
        for turn_id in before:
            # A turn that ran when the backup was made counts as crashed.
            assert (await kernel.turns.get(turn_id)).outcome in (Outcome.OK, Outcome.INTERRUPTED)


def test_a_copy_is_of_the_moment_in_which_it_began(tmp_path: Path) -> None:
    original = open_file(str(tmp_path / "segue.db"), 5)
    original.execute("CREATE TABLE lines (line TEXT)")
    original.executemany("INSERT INTO lines VALUES (?)", [(f"{number:0500}",) for number in range(100)])
    parts: list[float] = []

    def write(part: float) -> None:
        parts.append(part)
        original.execute("INSERT INTO lines VALUES ('late')")

    backup.copy_database(tmp_path / "segue.db", tmp_path / "copy.db", write, pages_at_once=1)
    assert parts == sorted(parts)
    assert len(parts) > 10
    assert original.execute("SELECT COUNT(*) FROM lines").fetchone()[0] == 100 + len(parts)
    original.close()
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT COUNT(*), COUNT(DISTINCT line) FROM lines").fetchone() == (100, 100)
    copy.close()
    assert not list(tmp_path.glob("copy.db-*"))


async def test_a_backup_is_readable_by_its_owner_only_and_replaces_nothing(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    made = await segue("db", "backup", "copy.db")
    copy = segue.folder / "copy.db"
    assert (made.code, made.out) == (0, f"Wrote copy.db ({copy.stat().st_size:,} bytes).\n")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    copy.write_text("something else")
    refused = await segue("db", "backup", "copy.db")
    assert refused.code == 2
    assert refused.err == "Error: copy.db exists; name another file, or replace it with --force\n"
    assert copy.read_text() == "something else"
    assert (await segue("db", "backup", "copy.db", "--force")).code == 0
    assert copy.read_bytes().startswith(b"SQLite format 3\0")
    assert sorted(file.name for file in segue.folder.iterdir()) == ["copy.db", "data"]


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("data/segue.db", "is the database itself"),
        ("data/segue.db-wal", "is the database itself"),
        ("link.db", "is the database itself"),
        ("data", "is a folder"),
        ("missing/copy.db", "there is no folder"),
    ],
)
async def test_a_file_that_cannot_be_the_copy_is_refused(segue: Segue, file: str, sentence: str) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    (segue.folder / "link.db").symlink_to(segue.data / "segue.db")
    refused = await segue("db", "backup", file, "--force")
    assert refused.code == 2
    assert sentence in refused.err
    assert (await segue("doctor")).code == 0


async def test_a_failed_backup_leaves_no_file_and_the_old_one_as_it_was(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    await segue("db", "backup", "copy.db")
    old = (segue.folder / "copy.db").read_bytes()
    database = segue.data / "segue.db"
    content = bytearray(database.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    database.write_bytes(content)
    failed = await segue("db", "backup", "copy.db", "--force")
    assert failed.code == 1
    assert "damaged" in failed.err
    assert (segue.folder / "copy.db").read_bytes() == old
    assert sorted(file.name for file in segue.folder.iterdir()) == ["copy.db", "data"]


async def test_a_terminal_shows_the_progress(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    async with at_terminal(segue, "db", "backup", "copy.db") as terminal:
        await terminal.see("100%")
        await terminal.see("Wrote copy.db")
        assert await terminal.end() == 0


async def test_a_missing_database_is_not_created_by_a_backup(segue: Segue) -> None:
    ended = await segue("db", "backup", "copy.db")
    assert ended.code == 1
    assert ended.err.startswith("Error: there is no database at ")
    assert not segue.data.exists()


PRINTING = """#!/bin/sh
printf '%s\\n' "$@" > arguments
printf '%s' "$PGPASSWORD" > password
for argument; do case $argument in --file=*) echo dump > "${argument#--file=}" ;; esac; done
"""


@pytest.fixture
def program(segue: Segue) -> Callable[[str], None]:
    """Writes a program that is found as `pg_dump`."""

    def write(text: str) -> None:
        folder = segue.folder / "bin"
        folder.mkdir()
        (folder / "pg_dump").write_text(text)
        (folder / "pg_dump").chmod(0o700)
        segue.env["PATH"] = f"{folder}:{os.environ['PATH']}"

    return write


async def test_pg_dump_gets_the_password_but_not_as_an_argument(
    segue: Segue, program: Callable[[str], None]
) -> None:
    program(PRINTING)
    url = "postgresql://ann:hush%40hush@db1:5433,db2/agents?target_session_attrs=read-write"
    ended = await segue("db", "backup", "copy.dump", "--database", url)
    assert ended.code == 0, ended.err
    arguments = (segue.folder / "arguments").read_text()
    assert "--dbname=postgresql://ann@db1:5433,db2/agents?target_session_attrs=read-write" in arguments
    assert "hush" not in arguments + ended.out + ended.err
    assert (segue.folder / "password").read_text() == "hush@hush"
    assert (segue.folder / "copy.dump").read_text() == "dump\n"


async def test_a_failing_pg_dump_leaves_no_file(segue: Segue, program: Callable[[str], None]) -> None:
    program("#!/bin/sh\necho 'error: server version mismatch' >&2\nexit 1\n")
    ended = await segue("db", "backup", "copy.dump", "--database", "postgresql://ann:hush-hush@db/agents")
    assert ended.code == 1
    assert "postgresql://ann:•••@db/agents: error: server version mismatch" in ended.err
    assert sorted(file.name for file in segue.folder.iterdir()) == ["bin"]


async def test_without_pg_dump_the_command_is_shown_without_the_password(segue: Segue) -> None:
    segue.env["PATH"] = str(segue.folder)
    ended = await segue("db", "backup", "copy.dump", "--database", "postgresql://ann:hush-hush@db/agents")
    assert ended.code == 1
    command = "pg_dump --format=custom --no-owner --file=copy.dump --dbname=postgresql://ann@db/agents"
    assert command in ended.err
    assert "hush" not in ended.err


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://ann@db/x", "postgresql://ann@db/x", None),
        ("postgresql://ann:a:b@c@db/x", "postgresql://ann@db/x", "a:b@c"),
        ("postgresql://ann@/x?host=/tmp&password=hush", "postgresql://ann@/x?host=/tmp", "hush"),
        ("postgresql://db/x?password=hush&user=ann", "postgresql://db/x?user=ann", "hush"),
    ],
)
def test_a_password_is_taken_out_of_a_url(url: str, shown: str, password: str | None) -> None:
    command = dump_command(url, Path("copy"))
    assert command.arguments[-1] == f"--dbname={shown}"
    assert command.password == password
