"""Several processes on one SQLite file: they take turns, and survive each other's end."""

import asyncio
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from segue.errors import StoreUnavailable
from segue.store.queries import translate
from segue.store.settings import StoreSettings
from segue.store.sqlite.database import Sqlite
from segue.store.sqlite.loop_bridge import LoopBridge
from tests.crash.figures import Record
from tests.eventually import eventually
from tests.store import sqlite_process
from tests.store.sqlite_process import (
    REFUSED,
    WRITE_SECONDS,
    adding,
    make_notes,
    notes,
    open_and_migrate,
    stop_in_the_middle,
    write_and_tell,
    write_despite_errors,
    write_for_a_while,
)
from tests.unavailable import cannot_run

PROCESSES = 8
LONG = bool(os.environ.get("SEGUE_LONG"))
IMAGES = 200 if LONG else 20
FAULTY_WRITES = 20_000
FAULT_SHARE = 0.01
FAULTS = ("posix/io/rw/pwrite", "posix/io/rw/pwrite/reduce", "posix/io/rw/pread", "posix/io/sync/*")
"""Of libfiu: errors and short writes, of the calls that SQLite makes."""


@contextmanager
def process(role: object, *args: Path, under: Sequence[str] = ()) -> Iterator["subprocess.Popen[str]"]:
    command = [
        *under,
        sys.executable,
        sqlite_process.__file__,
        getattr(role, "__name__", ""),
        *map(str, args),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def line_of(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def at_once(role: object, *args: Path) -> list[Any]:
    """Start many processes, release them at the same moment, and return what each printed."""
    with ExitStack() as stack:
        children = [stack.enter_context(process(role, *args)) for _ in range(PROCESSES)]
        assert [line_of(child) for child in children] == ["ready"] * PROCESSES
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        return [json.loads(line_of(child)) for child in children]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A database with a table in it."""
    database = await Sqlite.open(str(tmp_path / "segue.db"))
    await database.run(make_notes)
    await database.close()
    return tmp_path / "segue.db"


@pytest.mark.serial
def test_of_eight_processes_that_never_pause_none_is_starved(path: Path, figure: Record) -> None:
    said = at_once(write_for_a_while, path)
    served = [each["served"] for each in said]
    figure("transactions a second of all", f"{sum(served) / WRITE_SECONDS:.0f}")
    figure("p99 of the slowest process", f"{max(each['p99_ms'] for each in said):.0f} ms")
    assert min(served) > sum(served) / PROCESSES / 3


def test_processes_that_start_at_once_make_the_schema_once(tmp_path: Path) -> None:
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    (migrations / "0001_first.sql").write_text("CREATE TABLE a (id TEXT);")
    (migrations / "0002_second.sql").write_text("CREATE TABLE b (id TEXT);")
    applied = at_once(open_and_migrate, tmp_path / "segue.db", migrations)
    assert sorted(name for names in applied for name in names) == ["0001_first", "0002_second"]


async def test_a_process_that_stops_in_the_middle_is_not_waited_for_without_end(path: Path) -> None:
    database = await Sqlite.open(str(path), StoreSettings(busy_seconds=0.2))
    with process(stop_in_the_middle, path) as child:
        assert await asyncio.to_thread(line_of, child) == "inside"
        refused = await asyncio.gather(
            *(database.run(adding(f"told to try again {n}")) for n in range(3)), return_exceptions=True
        )
        assert [type(each) for each in refused] == [StoreUnavailable] * 3
        assert await notes(database) == []
        child.send_signal(signal.SIGCONT)
        assert await asyncio.to_thread(line_of, child) == "done"
    await database.run(adding("after"))
    assert await notes(database) == ["after", "half a thought"]
    await database.close()


async def test_closing_does_not_wait_for_a_process_that_has_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards the loop is not blocked any more for the thread that still waits."""
    loop = asyncio.get_running_loop()
    call_later, timers = loop.call_later, set[object]()

    def recorded(seconds: float, look: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        if not isinstance(getattr(look, "__self__", None), LoopBridge):
            return call_later(seconds, look, *args)

        def fire() -> None:
            look(*args)
            timers.remove(fire)

        timers.add(fire)
        return call_later(seconds, fire)

    monkeypatch.setattr(loop, "call_later", recorded)
    database = await Sqlite.open(str(path), StoreSettings(busy_seconds=0.2))
    with process(stop_in_the_middle, path) as child:
        assert await asyncio.to_thread(line_of, child) == "inside"
        waiting = asyncio.create_task(database.run(adding("too late")))
        await asyncio.sleep(0)
        await database.close()
        with pytest.raises(StoreUnavailable, match="held by another process"):
            await waiting
        await eventually(lambda: not timers, "the end of the timers")


async def test_a_process_that_is_killed_in_the_middle_leaves_nothing(path: Path) -> None:
    database = await Sqlite.open(str(path))
    with process(stop_in_the_middle, path) as child:
        assert await asyncio.to_thread(line_of, child) == "inside"
        child.kill()
    await database.run(adding("after"))
    assert await notes(database) == ["after"]
    await database.close()


async def test_another_programs_lock_is_not_waited_for_without_end(path: Path) -> None:
    database = await Sqlite.open(str(path), StoreSettings(busy_seconds=0.1))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another program has locked it"):
        await database.run(adding("now"))
    other.execute("COMMIT")
    other.close()
    await database.run(adding("later"))
    assert await notes(database) == ["later"]
    await database.close()


def test_every_image_of_the_disk_holds_what_was_acknowledged(path: Path, tmp_path: Path) -> None:
    """The process is stopped at some moment, and its files are copied as a power cut would leave them."""
    moments = random.Random(19)
    image = tmp_path / "image"
    promised: list[str] = []
    with process(write_and_tell, path) as child:
        for _ in range(IMAGES):
            promised += [line_of(child) for _ in range(moments.randrange(1, 100))]
            child.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            image.mkdir()
            for name in ("segue.db", "segue.db-wal"):
                shutil.copy(path.with_name(name), image)
            child.send_signal(signal.SIGCONT)
            assert asyncio.run(_whole_notes(image / "segue.db")) >= set(promised)
            shutil.rmtree(image)


@pytest.mark.skipif(not LONG, reason="needs a package of Debian's: `make faults` runs it")
@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_of_the_disk_loses_what_was_acknowledged(path: Path, fault: str, figure: Record) -> None:
    if shutil.which("fiu-run") is None:
        cannot_run("errors of the disk need fiu-run: apt-get install fiu-utils")
    faulty = ["fiu-run", "-x", "-c", f"enable_random name={fault},probability={FAULT_SHARE}"]
    with process(write_despite_errors, path, under=faulty) as child:
        lines = [line_of(child) for _ in range(FAULTY_WRITES)]
    promised = set(lines) - {REFUSED}
    assert promised
    assert asyncio.run(_whole_notes(path)) >= promised
    figure("writes, of which refused, lost", f"{len(lines)}, {lines.count(REFUSED)}, 0")


async def _whole_notes(path: Path) -> set[str]:
    database = await Sqlite.open(str(path))
    found = set(await notes(database))
    checked = await database.read(translate("notes.check", "SELECT * FROM pragma_integrity_check"), {})
    await database.close()
    assert [row["integrity_check"] for row in checked] == ["ok"]
    return found
