"""The sessions that wait for a silence. The seed keeps them in a file; here they follow from the rows."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from segue import Kernel
from segue.kernel.transactions.memory.archive import failed
from segue.model.auto_commit import AutoCommitPolicy
from segue.store import queries
from segue.store.database import Transaction
from segue.store.open import open_database
from segue.store.rows import core as rows
from segue.testing import Fault, FaultyStore, ManualClock, ScriptedAgent, audit, quiet
from tests.flows.house import OpenKernel

CHAT = "web:1"
BY_SILENCE = AutoCommitPolicy(enabled=True, idle_timeout_seconds=600)
MOST_STATEMENTS = 100


def spoil(key: str, policy: str) -> Transaction[None]:
    changed = queries.translate(
        "test.spoil", "UPDATE sessions SET auto_commit_policy = :policy WHERE key = :key"
    )
    yield changed, {"key": key, "policy": policy}


async def members(kernel: Kernel) -> list[str]:
    return sorted(each.key for each in (await kernel.memory.auto_commit_index()).members)


async def reasons(kernel: Kernel, key: str = CHAT) -> list[str]:
    """Of its archives, the oldest first."""
    return [each.reason for each in reversed(await kernel.memory.archives(key))]


async def test_without_members_there_is_nothing_to_do(
    kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    """A7.13: a store without a session is an empty index, and no reason for a warning."""
    assert await members(kernel) == []
    assert await kernel.workers.archivist.step() == 0
    assert [record for record in caplog.records if record.name.startswith("segue")] == []


async def test_every_process_knows_the_members_at_once(open_kernel: OpenKernel) -> None:
    """A7.10, A8.1: a change by one is seen by the other; no process has an index of its own."""
    one, two = await open_kernel(), await open_kernel()
    await one.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    assert await members(two) == [CHAT]
    await two.sessions.update(CHAT, auto_commit_policy=None)
    assert await members(one) == []


async def test_the_index_tells_when_it_last_changed(kernel: Kernel, clock: ManualClock) -> None:
    """A7.10, A7.11: when a session joined or was committed; not when it is read, nor with every message."""

    async def changed_at() -> int | None:
        return (await kernel.memory.auto_commit_index()).changed_at

    assert await changed_at() is None
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    joined = clock.ms()
    for _ in range(10):
        clock.advance(seconds=30)
        await kernel.log.write(CHAT, "user", "more")
        assert await changed_at() == joined
    await kernel.log.write("web:2", "user", "hello", auto_commit_policy=BY_SILENCE)
    assert await changed_at() == clock.ms() > joined
    clock.advance(minutes=1)
    await kernel.memory.commit(CHAT)
    committed = clock.ms()
    clock.advance(minutes=1)
    assert await changed_at() == committed


async def test_a_commit_that_fails_is_no_change_in_the_future(kernel: Kernel, clock: ManualClock) -> None:
    """A11.3: it stays a member, and is tried again after a pause longer than its silence."""
    briefly = AutoCommitPolicy(enabled=True, idle_timeout_seconds=1)
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=briefly)
    session = await kernel.sessions.get(CHAT)
    await kernel.store.commit(failed, session.id, "no", clock.ms())
    index = await kernel.memory.auto_commit_index()
    assert [each.key for each in index.members] == [CHAT]
    assert index.changed_at == clock.ms()


async def test_a_check_respects_what_another_process_did(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """A8.3, A8.4: a session that was committed or deleted elsewhere is not committed here."""
    one, two = await open_kernel(), await open_kernel()
    for key in ("web:archived", "web:deleted", "web:stays"):
        await one.log.write(key, "user", "hello", auto_commit_policy=BY_SILENCE)
    await two.memory.commit("web:archived")
    await two.sessions.delete("web:deleted")
    clock.advance(minutes=10)
    await quiet(one)
    assert await reasons(one, "web:archived") == ["manual"]
    assert await reasons(one, "web:stays") == ["idle_timeout"]
    assert await members(one) == []


async def test_the_index_is_no_file(tmp_path: Path, agent: ScriptedAgent) -> None:
    """A7.1, A7.2, A7.14: the folder is made, and holds the database and its own companions alone."""
    folder = tmp_path / "not" / "there yet"
    async with Kernel(f"sqlite:///{folder}/segue.db", agent=agent) as kernel:
        await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
        await kernel.memory.commit(CHAT)
        await quiet(kernel)
        there = {path.name for path in folder.iterdir()}
    companions = {f"segue.db{ending}" for ending in ("-wal", "-shm", ".lock", ".next")}
    assert {"segue.db"} <= there <= {"segue.db"} | companions


async def test_sessions_that_join_at_once_are_all_members(open_kernel: OpenKernel) -> None:
    """A7.12: in two processes; a file that each rewrites as a whole would lose some of them."""
    kernels = [await open_kernel(), await open_kernel()]
    keys = [f"web:{n:02}" for n in range(20)]
    await asyncio.gather(
        *(
            kernels[n % 2].log.write(key, "user", "hello", auto_commit_policy=BY_SILENCE)
            for n, key in enumerate(keys)
        )
    )
    assert await members(kernels[0]) == keys
    await asyncio.gather(
        *(kernels[n % 2].sessions.update(key, auto_commit_policy=None) for n, key in enumerate(keys[:10]))
    )
    assert await members(kernels[1]) == keys[10:]


async def test_a_message_and_its_membership_are_written_together(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A12.3: a fault at any statement leaves neither; the seed has a window between the two."""
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock) as sound:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            faulty = FaultyStore(database, fail_at=statement)
            async with Kernel(faulty, agent=agent, clock=clock) as kernel:
                try:
                    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
                    break
                except Fault:
                    assert (await members(sound), await sound.sessions.list()) == ([], [])
        assert statement > 3
        assert await members(sound) == [CHAT]
        assert not await audit(database)
    await database.close()


async def test_a_check_commits_only_sessions_whose_silence_is_over(
    kernel: Kernel, clock: ManualClock
) -> None:
    """A9.1: each due session is checked again by its current state."""
    for key in ("web:silent", "web:talks", "web:left"):
        await kernel.log.write(key, "user", "hello", auto_commit_policy=BY_SILENCE)
    clock.advance(minutes=5)
    await kernel.log.write("web:talks", "user", "still here")
    await kernel.log.write("web:new", "user", "hello", auto_commit_policy=BY_SILENCE)
    await kernel.sessions.update("web:left", auto_commit_policy=None)
    clock.advance(minutes=5)
    await kernel.workers.archivist.step()
    keys = ("web:silent", "web:talks", "web:left", "web:new")
    assert [key for key in keys if await reasons(kernel, key)] == ["web:silent"]
    assert await members(kernel) == ["web:new", "web:talks"]


@pytest.mark.parametrize(("seconds", "minutes"), [(300, 5), (1200, 20)], ids=["shorter", "longer"])
async def test_another_timeout_counts_from_the_last_message(
    kernel: Kernel, clock: ManualClock, seconds: int, minutes: int
) -> None:
    """A8.2: the armed moment is armed again."""
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    clock.advance(minutes=2)
    await kernel.sessions.update(CHAT, auto_commit_policy={"idle_timeout_seconds": seconds})
    clock.advance(minutes=minutes - 3)
    await quiet(kernel)
    assert await reasons(kernel) == []
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await reasons(kernel) == ["idle_timeout"]


async def test_a_commit_by_size_ends_the_wait_for_a_silence(kernel: Kernel, clock: ManualClock) -> None:
    """A4.7, A8.2: until the next message."""
    both = AutoCommitPolicy(enabled=True, token_threshold=10, idle_timeout_seconds=600)
    await kernel.log.write(CHAT, "user", "hi", auto_commit_policy=both)
    assert await members(kernel) == [CHAT]
    await kernel.log.write(CHAT, "user", "abcd" * 10)
    await kernel.workers.archivist.step()
    assert (await reasons(kernel), await members(kernel)) == (["token_threshold"], [])
    clock.advance(hours=1)
    await quiet(kernel)
    assert await reasons(kernel) == ["token_threshold"]
    await kernel.log.write(CHAT, "user", "hi again")
    assert await members(kernel) == [CHAT]
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await reasons(kernel) == ["token_threshold", "idle_timeout"]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo", "America/New_York"])
async def test_a_silence_is_as_long_in_every_zone(
    kernel: Kernel, clock: ManualClock, zone: str | None
) -> None:
    """A5.3: moments are numbers, so none has to be parsed or converted."""
    await kernel.sessions.open(CHAT, timezone=zone, auto_commit_policy=BY_SILENCE)
    await kernel.log.write(CHAT, "user", "hello")
    clock.advance(minutes=9, seconds=59)
    await quiet(kernel)
    assert await reasons(kernel) == []
    clock.advance(seconds=1)
    await quiet(kernel)
    assert await reasons(kernel) == ["idle_timeout"]


@pytest.mark.parametrize("policy", ["{", "3", "{}", '{"enabled": true, "idle_timeout_seconds": "soon"}'])
async def test_an_unreadable_policy_counts_as_none_and_stops_no_other_session(
    kernel: Kernel, clock: ManualClock, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    """A5.3, A7.13, A8.4: it is logged, the others are committed, and a new policy replaces it."""
    rows.auto_commit_policy.cache_clear()  # each text is complained of once
    for key in ("web:spoilt", "web:well"):
        await kernel.log.write(key, "user", "hello", auto_commit_policy=BY_SILENCE)
    await kernel.store.commit(spoil, "web:spoilt", policy)
    assert await members(kernel) == ["web:well"]
    assert "unreadable auto_commit_policy" in caplog.text
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await reasons(kernel, "web:well") == ["idle_timeout"]
    assert await reasons(kernel, "web:spoilt") == []
    await kernel.log.write("web:spoilt", "user", "still here", auto_commit_policy=BY_SILENCE)
    assert await members(kernel) == ["web:spoilt"]


async def test_a_policy_with_a_field_from_a_newer_version_goes_on(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    newer = '{"enabled": true, "idle_timeout_seconds": 600, "mood": "patient"}'
    await kernel.store.commit(spoil, CHAT, newer)
    assert await members(kernel) == [CHAT]
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await reasons(kernel) == ["idle_timeout"]
