"""A disk that is full: callers are told, nothing half-done stays, and room brings everything back."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.errors import StoreUnavailable
from segue.store.sql import translate
from segue.store.sqlite import Sqlite
from tests.store.sqlite_process import adding, make_notes, notes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="only root can mount a small disk"
)

check = translate("notes.check", "SELECT * FROM pragma_integrity_check")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk could be mounted: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


async def write_until_it_fails(database: Sqlite, promised: list[str]) -> None:
    for number in range(1_000):
        await database.run(adding(f"{number:04}", "x" * 10_000))
        promised.append(f"{number:04}")


async def test_a_full_disk_is_told_and_forgotten_when_there_is_room(small_disk: Path) -> None:
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
