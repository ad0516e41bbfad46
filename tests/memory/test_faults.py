"""A fault at every statement of a commit and of the learning from it; and a kill in the middle."""

import asyncio
import signal
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from segue import Kernel, Owner
from segue.kernel.transactions.memory.archive import ArchiveMade
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.memory import ArchiveState, TaskState
from segue.store.open import open_database
from segue.testing import Fault, FaultyStore, ManualClock, ScriptedAgent, audit, quiet

CHAT = "web:1"
MOST_STATEMENTS = 100
SAID = [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "I moved to Lisbon.")]


async def test_a_commit_that_fails_at_any_statement_leaves_nothing(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A10.6."""
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as sound:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            key = f"web:{statement}"
            await sound.log.write_all(key, SAID)
            faulty = FaultyStore(database, fail_at=statement)
            async with Kernel(faulty, agent=agent, clock=clock) as kernel:
                try:
                    await kernel.memory.commit(key)
                    break
                except Fault:
                    assert not await audit(database)
                    assert await sound.memory.archives(key) == []
                    assert (await sound.sessions.overview(key)).message_count == 3
            assert isinstance(await sound.memory.commit(key), ArchiveMade)
        assert not await audit(database)
        assert statement > 4
    await database.close()


async def test_an_archivist_that_fails_at_any_statement_does_its_work_the_next_time(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A10.6, A11.3, A12.6: the check, the commit, each step of the learning and its end."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=1)
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as sound:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            owner = Owner("default", f"user-{statement}")  # a user without memories
            await sound.log.write_all(CHAT, SAID, auto_commit_policy=policy, owner=owner)
            faulty = FaultyStore(database, fail_at=statement)
            async with Kernel(faulty, agent=agent, clock=clock) as kernel:
                with suppress(Fault, ExceptionGroup):
                    await kernel.workers.archivist.step()
            assert not await audit(database)
            clock.advance(minutes=10)
            await quiet(sound)
            clock.advance(minutes=10)
            await quiet(sound)
            assert not await audit(database)
            (archive,) = await sound.memory.archives(CHAT, owner=owner)
            assert archive.state is ArchiveState.DONE
            assert (await sound.memory.task(archive.task_id, owner=owner)).state is TaskState.COMPLETED
            known = [memory.content for memory in await sound.memory.list(owner=owner)]
            assert sorted(known) == ["I moved to Lisbon.", "My name is Ada."]
            if faulty.statements < statement:
                break
    await database.close()


KILLED = """
import asyncio, sys
from segue import Kernel

async def silent(turn):
    return "ok"

async def main(url):
    async with Kernel(url, agent=silent) as kernel:
        for number in range(1_000_000):
            await kernel.log.write_all("web:1", [("user", f"word {number}"), ("assistant", "noted")])
            print(number, flush=True)
            if number % 3 == 2:
                await kernel.memory.commit("web:1", keep_recent_count=number % 4)
                await kernel.workers.archivist.step()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("lines", [4, 17, 30])
async def test_a_process_that_is_killed_loses_no_message(
    database_url: str, tmp_path: Path, clock: ManualClock, agent: ScriptedAgent, lines: int
) -> None:
    """A10.6: every acknowledged message exists once, and the next process continues."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), database_url, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged = -1
    for _ in range(lines):
        acknowledged = int(await process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = (await process.stdout.read()).split()
    await process.wait()
    acknowledged = int(rest[-1]) if rest else acknowledged
    database = await open_database(database_url)
    async with Kernel(database, agent=agent) as kernel:
        assert not await audit(database)
        log = [m.content for m in await kernel.messages(CHAT, limit=100_000) if m.role == "user"]
        assert log[: acknowledged + 1] == [f"word {number}" for number in range(acknowledged + 1)]
        assert len(log) in (acknowledged + 1, acknowledged + 2)
        await kernel.memory.commit(CHAT)
        put_away = [
            message.content
            for archive in reversed(await kernel.memory.archives(CHAT, limit=100_000))
            for message in await kernel.memory.archived_messages(CHAT, archive.n)
            if message.role == "user"
        ]
        assert put_away == log
        assert not await audit(database)
    await database.close()
