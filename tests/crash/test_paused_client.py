"""Trap 3: a client that is stopped between two statements of a transaction holds what it has locked.

On PostgreSQL the server ends such a client, because every connection of ours tells it to: without that, one
paused worker blocks a session for as long as it sleeps. A SQLite file has no server. There the others hear
within a few seconds that it is held, and go on when the sleeper wakes or dies.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from segue.errors import StoreUnavailable
from segue.kernel.kernel import Kernel
from segue.testing import ScriptedAgent
from tests.crash.figures import Record, p99
from tests.eventually import eventually
from tests.races.by_hand import stage
from tests.races.scenes import Scene

# Only here: the server is shared with tests of other processes.
ASLEEP = """
SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()
"""
TWICE_THE_LIMIT = 3.0


@asynccontextmanager
async def sleeper(url: str, session_id: str, *arguments: str) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """A process that holds the session's row and has stopped."""
    process = _start(url, session_id, *arguments)
    try:
        await eventually(lambda: _has_stopped(process.pid), "the client has stopped")
        yield process
    finally:
        process.kill()
        process.wait()


def _start(*arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.crash.sleeper", *arguments]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def _has_stopped(pid: int) -> bool:
    seen = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT)
    assert seen is None or seen.si_code == os.CLD_STOPPED, "it ended instead"
    return seen is not None


async def receive_in_the_end(kernel: Kernel, key: str) -> list[float]:
    """Try until it is in; how long each try took."""
    tries: list[float] = []
    while True:
        begun = time.monotonic()
        try:
            await kernel.receive(key, "hello")
        except StoreUnavailable:
            tries.append(time.monotonic() - begun)
        else:
            return [*tries, time.monotonic() - begun]


async def send_to_others(kernel: Kernel, waits: list[float]) -> None:
    for number in range(10_000):
        begun = time.monotonic()
        await kernel.receive(f"web:other-{number % 10}", "hello")
        waits.append(time.monotonic() - begun)
        await asyncio.sleep(0.01)


async def test_trap_3_a_paused_client_holds_up_its_session_for_a_moment_and_the_others_not_at_all(
    migrated_postgres_url: str, figure: Record
) -> None:
    async with Kernel(migrated_postgres_url, agent=ScriptedAgent()) as kernel:
        held = await kernel.receive("web:held", "hello")
        async with sleeper(migrated_postgres_url, held.session_id):
            waits: list[float] = []
            others = asyncio.create_task(send_to_others(kernel, waits))
            tries = await receive_in_the_end(kernel, "web:held")
            others.cancel()
            await asyncio.wait([others])
        assert len(await kernel.store.queued_turns(held.session_id)) == 2
        assert not await kernel.audit()
    figure("longest try to reach the held session", f"{max(tries):.1f} s")
    figure(f"{len(waits)} messages to other sessions during the pause, p99", f"{p99(waits) * 1000:.0f} ms")


async def test_trap_3_without_the_limits_the_session_is_held_as_long_as_its_client_sleeps(
    migrated_postgres_url: str,
) -> None:
    async with stage(migrated_postgres_url) as on:
        scene = Scene(on)
        admitted = await on.perform(scene.arrives("first"))
        watcher = await asyncpg.connect(migrated_postgres_url)
        async with sleeper(migrated_postgres_url, admitted.value.session_id, "--without-limits"):
            message = on.actor("message", scene.arrives("second"))
            await message.step()
            assert message.blocked
            await asyncio.sleep(TWICE_THE_LIMIT)
            await message.look()
            assert message.blocked
            assert await watcher.fetchval(ASLEEP) == 1
        await watcher.close()
        while not message.finished:
            await message.step()
        assert message.error is None
        assert [held.turn.content for held in await scene.drained()] == ["first", "second"]


@pytest.mark.parametrize("ends_by", [signal.SIGCONT, signal.SIGKILL])
async def test_on_sqlite_the_others_hear_that_the_file_is_held_and_go_on_after(
    tmp_path: Path, ends_by: signal.Signals
) -> None:
    url = f"sqlite:///{tmp_path}/segue.db"
    async with Kernel(url, agent=ScriptedAgent()) as kernel:
        held = await kernel.receive("web:held", "hello")
        async with sleeper(url, held.session_id) as process:
            with pytest.raises(StoreUnavailable):
                await kernel.receive("web:other", "hello")
            assert len(await kernel.store.queued_turns(held.session_id)) == 1
            process.send_signal(ends_by)
            await receive_in_the_end(kernel, "web:other")
        assert not await kernel.audit()
