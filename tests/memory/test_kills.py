"""kill -9 at every statement of a commit and of an archivist's step, each in a process of its own."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count

import pytest_asyncio

from segue import Kernel, Owner
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.memory import ArchiveState, TaskState
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent, audit, quiet
from tests.memory.killed import IMPORTED

CHAT = "web:1"
MOST_STATEMENTS = 100
SAID = [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "I moved to Lisbon.")]


@pytest_asyncio.fixture(loop_scope="session")
async def processes() -> AsyncIterator["KilledProcesses"]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.memory.killed"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield KilledProcesses(process)
    await process.communicate(b"")  # which ends its input


@dataclass
class KilledProcesses:
    process: asyncio.subprocess.Process

    async def killed(self, url: str, clock: ManualClock, work: str, statement: int) -> bool:
        """Whether the process reached that statement, and was killed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order = json.dumps([url, clock.now().isoformat(), work, statement])
        self.process.stdin.write(f"{order}\n".encode())
        ended = int(await self.process.stdout.readline())
        assert ended in (0, -signal.SIGKILL)
        return ended != 0


async def test_an_import_killed_at_any_statement_is_completed_by_the_next_one(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, processes: KilledProcesses
) -> None:
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as successor:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            key = f"web:{statement}"
            killed = await processes.killed(database_url, clock, f"import:{key}", statement)
            done = await successor.log.import_all(key, IMPORTED)
            assert done.added + done.present == len(IMPORTED)
            assert done.present % 100 == 0 or not killed or done.added == 0
            messages = await successor.messages(key, limit=1_000)
            assert [(each.role, each.content) for each in messages] == [
                (given[0], given[1]) for given in IMPORTED
            ]
            if not killed:
                break
        assert statement > 10
        assert not await audit(database)
    await database.close()


async def test_a_commit_killed_at_any_statement_is_complete_or_absent(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, processes: KilledProcesses
) -> None:
    """A10.6, A12.4, A12.6: nothing is lost or doubled, and the next commit is not blocked."""
    database = await open_database(database_url)
    put_away = []
    async with Kernel(database, agent=agent, clock=clock) as successor:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            key = f"web:{statement}"
            await successor.log.write_all(key, SAID)
            if not await processes.killed(database_url, clock, key, statement):
                break
            assert not await audit(database)
            found = await successor.memory.archives(key)
            put_away.append(bool(found))
            assert (await successor.sessions.get(key)).live.messages == (0 if found else len(SAID))
            await successor.memory.commit(key)
            (archive,) = await successor.memory.archives(key)
            assert [
                (m.role, m.content) for m in await successor.memory.archived_messages(key, archive.n)
            ] == SAID
            assert not await audit(database)
    await database.close()
    assert len(put_away) > 6
    assert put_away == [False] * (len(put_away) - 1) + [True]


async def test_the_work_of_an_archivist_killed_at_any_statement_is_completed_by_another(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, processes: KilledProcesses
) -> None:
    """A10.6, A12.6: the check, the commit, both steps of the learning and its end; each is done once."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=1)
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as successor:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            owner = Owner("default", f"user-{statement}")  # a user without memories
            await successor.log.write_all(CHAT, SAID, auto_commit_policy=policy, owner=owner)
            came_to_it = await processes.killed(database_url, clock, "archivist", statement)
            assert not await audit(database)
            for _ in range(2):
                clock.advance(minutes=10)
                await quiet(successor)
            assert not await audit(database)
            (archive,) = await successor.memory.archives(CHAT, owner=owner)
            assert archive.state is ArchiveState.DONE
            assert (await successor.memory.task(archive.task_id, owner=owner)).state is TaskState.COMPLETED
            known = [memory.content for memory in await successor.memory.list(owner=owner)]
            assert sorted(known) == ["I moved to Lisbon.", "My name is Ada."]
            if not came_to_it:
                break
    await database.close()
    assert statement > 30
