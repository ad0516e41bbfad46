"""The commands of the guides for operators, run as they are shown, with their folders in one of the test."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from segue import Kernel, OpenTurn
from segue.store.open import open_database
from tests.crash.patroni_cluster import HAPROXY, PGBOUNCER
from tests.docs.pages import ROOT, blocks
from tests.postgres import OWNER, Server, binaries, start_server, temporary_server

GUIDES = ROOT / "docs" / "guides"


def shown(guide: str, *, containing: str) -> str:
    """The block of a guide that contains these words."""
    (block,) = [each.text for each in blocks(GUIDES / guide) if containing in each.text]
    return block


def run(script: str, folder: Path, *, user: str | None = None, **env: str) -> str:
    """Run a block with `/backups` and `/archive` in the folder. Returns what it prints."""
    programs = f"{Path(sys.executable).parent}:{binaries()}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", here(script, folder)],
        env={"PATH": programs, "HOME": str(folder), **env},
        cwd=folder,
        user=user,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def here(text: str, folder: Path) -> str:
    return text.replace("/backups", f"{folder}/backups").replace("/archive", f"{folder}/archive")


async def say(url: str, text: str) -> None:
    async with Kernel(url, agent=_silent) as kernel:
        await kernel.receive("web:1", text)
        await kernel.drain()


async def said(url: str) -> list[str]:
    async with Kernel(url, agent=_silent) as kernel:
        return [message.content for message in await kernel.messages("web:1") if message.role == "user"]


async def _silent(turn: OpenTurn) -> str:
    return ""


async def test_a_backup_of_sqlite_is_restored_as_the_guide_says(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    data = tmp_path / "data"
    url = f"sqlite:///{data}/segue.db"
    env = {"SEGUE_DATA": str(data)}
    await say(url, "before")
    await asyncio.to_thread(run, shown("operate.md", containing="segue db backup /backups"), tmp_path, **env)
    await say(url, "after")
    report = await asyncio.to_thread(run, shown("operate.md", containing='mv "$SEGUE_DATA"'), tmp_path, **env)
    assert "all hold" in report
    assert await said(url) == ["before"]
    assert (data / "replaced" / "segue.db").exists()


async def test_a_database_is_made_and_restored_as_the_guides_say(tmp_path: Path) -> None:
    with temporary_server() as server:
        env = {"PGHOST": str(server.data_dir), "PGUSER": "postgres"}
        made = await asyncio.to_thread(
            run, shown("postgresql.md", containing="createdb segue\n"), tmp_path, **env
        )
        assert "all hold" in made
        host = f"host={server.data_dir}"
        url = f"postgresql://postgres@/segue?{host}"
        await say(url, "before")
        backup = "segue db backup segue-2026-11-17.dump"
        await asyncio.to_thread(run, backup, tmp_path, **env, SEGUE_DATABASE=url)
        restore = shown("operate.md", containing="pg_restore")
        assert "all hold" in await asyncio.to_thread(run, restore, tmp_path, **env)
        assert await said(f"postgresql://postgres@/segue_restored?{host}") == ["before"]


@pytest.mark.parametrize(("containing", "tried"), [("httpchk", HAPROXY), ("pool_mode", PGBOUNCER)])
def test_what_the_guide_sets_before_patroni_is_what_the_cluster_of_the_tests_has(
    containing: str, tried: str
) -> None:
    set_here = [line.strip() for line in shown("postgresql.md", containing=containing).splitlines()]
    of_the_place = ("listen ", "bind ", "server ", "segue =")
    general = {line for line in set_here if line and not line.startswith(of_the_place)}
    assert general <= {line.strip() for line in tried.splitlines()}


@pytest.fixture
def archived() -> Iterator[tuple[Path, Server]]:
    """A folder, and a server that archives its write-ahead log there."""
    folder = Path(tempfile.mkdtemp(prefix="segue-archive-"))
    for name in ("archive", "backups"):
        (folder / name).mkdir()
    if OWNER:
        for each in (folder, *folder.iterdir()):
            shutil.chown(each, OWNER)
    server = start_server(folder / "data")
    try:
        server.stop()
        with (folder / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write(here(shown("postgresql.md", containing="archive_mode"), folder))
        server.start()
        yield folder, server
    finally:
        server.stop()
        shutil.rmtree(folder)


async def test_a_moment_is_restored_as_the_guide_says(archived: tuple[Path, Server]) -> None:
    folder, server = archived
    env = {"PGHOST": str(server.data_dir), "PGUSER": "postgres"}
    await (await open_database(server.url)).close()
    base = shown("postgresql.md", containing="pg_basebackup")
    await asyncio.to_thread(run, base, folder, user=OWNER, **env)
    await say(server.url, "before")
    connection = await asyncpg.connect(server.url)
    moment = str(await connection.fetchval("SELECT now()"))
    await say(server.url, "after")
    await connection.execute("SELECT pg_switch_wal()")
    await connection.close()
    server.stop()
    restore = shown("postgresql.md", containing="recovery.signal")
    await asyncio.to_thread(run, restore, folder, user=OWNER, MOMENT=moment)
    (folder / "backups" / "base" / ".s.PGSQL.5432.lock").unlink()
    restored = start_server(folder / "backups" / "base")
    try:
        await open_when_promoted(restored)
        assert await said(restored.url) == ["before"]
    finally:
        restored.stop()


async def open_when_promoted(server: Server) -> None:
    connection = await asyncpg.connect(server.url)
    try:
        while await connection.fetchval("SELECT pg_is_in_recovery()"):
            await connection.execute("SELECT pg_sleep(0.05)")
    finally:
        await connection.close()
