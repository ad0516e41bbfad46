"""kill -9 at every statement of a commit, and of all that an archivist does, each in a process of its own."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count

import pytest

from segue import Kernel, Owner
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.memory import ArchiveState, TaskState
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent, audit, quiet

CHAT = "web:1"
MOST_STATEMENTS = 100
SAID = [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "I moved to Lisbon.")]


@pytest.fixture
async def doomed() -> AsyncIterator["Doomed"]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.memory.killed"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield Doomed(process)
    await process.communicate(b"")  # which ends its input


@dataclass
class Doomed:
    process: asyncio.subprocess.Process

    async def killed(self, url: str, clock: ManualClock, work: str, statement: int) -> bool:
        """Whether it came to that statement."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order = json.dumps([url, clock.now().isoformat(), work, statement])
        self.process.stdin.write(f"{order}\n".encode())
        ended = int(await self.process.stdout.readline())
        assert ended in (0, -signal.SIGKILL)
        return ended != 0


async def test_a_commit_killed_at_any_statement_is_there_wholly_or_not_at_all(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, doomed: Doomed
) -> None:
    """A10.6, A12.4, A12.6: nothing is lost, nothing is there twice, and the next commit is not blocked."""
    database = await open_database(database_url)
    put_away = []
    async with Kernel(database, agent=agent, clock=clock) as heir:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            key = f"web:{statement}"
            await heir.write_all(key, SAID)
            if not await doomed.killed(database_url, clock, key, statement):
                break
            assert not await audit(database)
            found = await heir.archives(key)
            put_away.append(bool(found))
            assert (await heir.session(key)).live.messages == (0 if found else len(SAID))
            await heir.commit(key)
            (archive,) = await heir.archives(key)
            assert [(m.role, m.content) for m in await heir.archived(key, archive.n)] == SAID
            assert not await audit(database)
    await database.close()
    assert len(put_away) > 6
    assert put_away == [False] * (len(put_away) - 1) + [True]


async def test_an_archivist_killed_at_any_statement_is_succeeded(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, doomed: Doomed
) -> None:
    """A10.6, A12.6: the look, the commit, both steps of the learning and its end; each is done once."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=1)
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as heir:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            somebody = Owner("default", f"user-{statement}")  # of whom nothing is known yet
            await heir.write_all(CHAT, SAID, auto_commit_policy=policy, owner=somebody)
            came_to_it = await doomed.killed(database_url, clock, "archivist", statement)
            assert not await audit(database)
            for _ in range(2):
                clock.advance(minutes=10)
                await quiet(heir)
            assert not await audit(database)
            (archive,) = await heir.archives(CHAT, owner=somebody)
            assert archive.state is ArchiveState.DONE
            assert (await heir.task(archive.task_id, owner=somebody)).state is TaskState.COMPLETED
            known = [memory.content for memory in await heir.memories(owner=somebody)]
            assert sorted(known) == ["I moved to Lisbon.", "My name is Ada."]
            if not came_to_it:
                break
    await database.close()
    assert statement > 30
