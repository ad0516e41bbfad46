"""Repair of wrong counts of a session's unarchived messages."""

import pytest

from segue import Kernel
from segue.kernel.transactions.memory.archive import MOST_READ
from segue.model.auto_commit import AutoCommitPolicy
from segue.store import queries
from segue.store.database import Transaction
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, under_way

BY_TOKENS = AutoCommitPolicy(enabled=True, token_threshold=10)
BY_SILENCE = AutoCommitPolicy(enabled=True, idle_timeout_seconds=600)
LONG = "abcd" * 10


def spoil(session_id: str, columns: str) -> Transaction[None]:
    yield queries.translate("test.spoil", f"UPDATE sessions SET {columns} WHERE id = :id"), {"id": session_id}


async def spoilt(kernel: Kernel, columns: str) -> None:
    await kernel.store.commit(spoil, (await kernel.sessions.get(CHAT)).id, columns)


@pytest.mark.parametrize(
    "wrong",
    [
        "live_messages = 0, live_tokens = 0",
        "live_messages = -3",
        "live_messages = 9000",
        "live_tokens = -1",
        "live_tokens = 4",
        "kept_tokens = 1000000",
        "kept_tokens = -1",
    ],
)
async def test_a_session_that_is_loaded_with_wrong_counts_has_them_rebuilt(
    kernel: Kernel, wrong: str
) -> None:
    """A3.6, A3.7: a stale 0 and a message in the log give 1."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=1000, keep_recent_count=1)
    await kernel.log.write_all(CHAT, [("user", "Hello there."), ("user", LONG)], auto_commit_policy=policy)
    before = await kernel.sessions.overview(CHAT)
    await spoilt(kernel, wrong)
    after = await kernel.sessions.overview(CHAT)
    assert (after.message_count, after.pending_tokens) == (2, before.pending_tokens)
    assert (await kernel.sessions.get(CHAT)).live == before.session.live


async def test_a_long_live_part_is_not_read_unless_its_counts_are_impossible(kernel: Kernel) -> None:
    for _ in range(MOST_READ // 100 + 1):
        await kernel.log.write_all(CHAT, [("user", "Hello.")] * 100)
    await spoilt(kernel, "live_messages = 2")
    assert (await kernel.sessions.overview(CHAT)).message_count == 2
    await spoilt(kernel, "live_messages = 0")
    assert (await kernel.sessions.overview(CHAT)).message_count == MOST_READ + 100


async def test_rebuilt_counts_that_cross_the_threshold_are_committed(kernel: Kernel) -> None:
    await kernel.sessions.open(CHAT, auto_commit_policy=None)
    await kernel.log.write(CHAT, "user", LONG)
    await spoilt(kernel, "live_messages = 0, live_tokens = 0")
    await kernel.sessions.update(CHAT, auto_commit_policy=BY_TOKENS)
    await quiet(kernel)
    assert await kernel.memory.archives(CHAT) == []
    await kernel.sessions.overview(CHAT)
    await quiet(kernel)
    [archive] = await kernel.memory.archives(CHAT)
    assert (archive.reason, archive.message_count) == ("token_threshold", 1)


async def test_a_commit_that_is_due_decides_by_the_log(kernel: Kernel, clock: ManualClock) -> None:
    """A4.6: with counts by which there is nothing to archive."""
    await kernel.log.write(CHAT, "user", "Hello.", auto_commit_policy=BY_SILENCE)
    await spoilt(kernel, "live_messages = 0, live_tokens = 0")
    clock.advance(minutes=10)
    await quiet(kernel)
    [archive] = await kernel.memory.archives(CHAT)
    assert (archive.reason, archive.message_count) == ("idle_timeout", 1)


async def test_the_words_of_a_turn_under_way_are_not_counted_twice(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    policy = AutoCommitPolicy(enabled=True, token_threshold=1000, keep_recent_count=2)
    await kernel.log.write(CHAT, "user", "Hello.", auto_commit_policy=policy)
    await kernel.receive(CHAT, LONG)
    async with under_way(kernel, agent):
        await kernel.log.write(CHAT, "user", "And this.")
        live = (await kernel.sessions.get(CHAT)).live
        assert (live.messages, live.kept_tokens) == (2, live.tokens)
        assert (await kernel.sessions.overview(CHAT)).message_count == 3
        assert (await kernel.sessions.get(CHAT)).live == live
    await quiet(kernel)
    assert (await kernel.sessions.overview(CHAT)).message_count == 4
