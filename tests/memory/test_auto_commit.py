"""Automatic archiving: by size, after a silence, once, and only if there is something to archive."""

import asyncio
from typing import TypeVar

import pytest

from segue import Ask, Every, Kernel, Owner, Settings
from segue.errors import NotFound
from segue.kernel.transactions.memory.archive import ArchiveMade
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.memory import TaskState
from segue.store import queries
from segue.store.database import Database, Transaction
from segue.store.open import open_database
from segue.testing import FaultyStore, ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import until, working

T = TypeVar("T")

CHAT = "web:1"
BY_TOKENS = AutoCommitPolicy(enabled=True, token_threshold=10)
BY_SILENCE = AutoCommitPolicy(enabled=True, idle_timeout_seconds=600)
LONG = "abcd" * 10


async def archives(kernel: Kernel, key: str = CHAT) -> list[tuple[int, str, int]]:
    """Oldest first: number, reason, messages."""
    found = await kernel.memory.archives(key, limit=500)
    return [(each.n, each.reason, each.message_count) for each in reversed(found)]


async def members(kernel: Kernel) -> list[str]:
    return [each.key for each in (await kernel.memory.auto_commit_index()).members]


async def test_a_write_that_reaches_the_threshold_commits(kernel: Kernel) -> None:
    """A4.1, A4.5, A2.11: the write answers first; the archivist commits."""
    await kernel.log.write_all(CHAT, [("user", "abcd" * 9)], auto_commit_policy=BY_TOKENS)
    await quiet(kernel)
    assert await archives(kernel) == []
    written = await kernel.log.write_all(CHAT, [("user", "abcd")])
    assert written.pending_tokens == 10
    await quiet(kernel)
    assert await archives(kernel) == [(1, "token_threshold", 2)]
    assert (await kernel.sessions.overview(CHAT)).pending_tokens == 0


async def test_a_turn_that_reaches_the_threshold_commits(kernel: Kernel, agent: ScriptedAgent) -> None:
    """A4.1: messages of turns count too."""
    await kernel.sessions.open(CHAT, auto_commit_policy=BY_TOKENS)
    agent.script(LONG)
    await kernel.receive(CHAT, "hello")
    await quiet(kernel)
    assert await archives(kernel) == [(1, "token_threshold", 2)]


async def test_a_scheduled_message_that_reaches_the_threshold_is_committed_at_once(
    kernel: Kernel, clock: ManualClock
) -> None:
    """A4.1: the clock stands still, so the archivist's periodic check cannot do it."""
    await kernel.log.write(CHAT, "user", "Remind me.", auto_commit_policy=BY_TOKENS)
    await kernel.scheduled_messages.add(CHAT, "in 1 hour", LONG)
    async with working(kernel):
        clock.advance(hours=1)
        await until(kernel, "session_sync")
    assert await archives(kernel) == [(1, "token_threshold", 2)]


async def test_the_newest_messages_stay_live(kernel: Kernel) -> None:
    """A4.4, A5.5."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=10, keep_recent_count=2)
    await kernel.log.write_all(CHAT, [("user", f"{LONG} {n}") for n in range(5)], auto_commit_policy=policy)
    await quiet(kernel)
    assert await archives(kernel) == [(1, "token_threshold", 3)]
    assert (await kernel.sessions.overview(CHAT)).message_count == 2


async def test_a_threshold_works_with_the_idle_switch_off_and_is_no_member(open_kernel: OpenKernel) -> None:
    """A4.2, A4.3, A6.3."""
    kernel = await open_kernel(settings=Settings(idle_commits=False))
    await kernel.log.write(CHAT, "user", LONG, auto_commit_policy=BY_TOKENS)
    assert await members(kernel) == []
    await quiet(kernel)
    assert await archives(kernel) == [(1, "token_threshold", 1)]


async def test_the_decision_is_made_again_when_its_moment_comes(kernel: Kernel) -> None:
    """A4.6, A5.4, A11.2: between the write and the check, the policy was removed."""
    await kernel.log.write(CHAT, "user", LONG, auto_commit_policy=BY_TOKENS)
    await kernel.sessions.update(CHAT, auto_commit_policy=None)
    await quiet(kernel)
    assert await archives(kernel) == []
    assert (await kernel.sessions.get(CHAT)).live.last_error == ""


async def test_a_quiet_session_is_committed_once(kernel: Kernel, clock: ManualClock) -> None:
    """A5.1, A5.2, A7.15, A12.4."""
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    for _ in range(5):
        clock.advance(minutes=9)
        await kernel.log.write(CHAT, "user", "still here")
        await quiet(kernel)
    assert await archives(kernel) == []
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await archives(kernel) == [(1, "idle_timeout", 6)]
    assert await members(kernel) == []
    clock.advance(days=1)
    await quiet(kernel)
    assert len(await archives(kernel)) == 1
    await kernel.log.write(CHAT, "user", "back again")
    assert await members(kernel) == [CHAT]


async def test_a_busy_chat_arms_one_moment(kernel: Kernel, clock: ManualClock) -> None:
    """DESIGN 3.9, A7.11: armed by the first message, not moved by the others."""
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    armed = (await kernel.sessions.get(CHAT)).live.commit_at
    for _ in range(10):
        clock.advance(seconds=5)
        await kernel.log.write(CHAT, "user", "and more")
    assert (await kernel.sessions.get(CHAT)).live.commit_at == armed == clock.ms() - 50_000 + 600_000


async def test_a_user_who_talks_in_turns_is_waited_for(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A5.2."""
    await kernel.sessions.open(CHAT, auto_commit_policy=BY_SILENCE)
    await kernel.receive(CHAT, "hello")
    await quiet(kernel)
    clock.advance(minutes=9)
    await kernel.receive(CHAT, "are you there?")
    await quiet(kernel)
    clock.advance(minutes=9)
    await quiet(kernel)
    assert await archives(kernel) == []
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await archives(kernel) == [(1, "idle_timeout", 4)]


async def test_scheduled_turns_are_no_user_activity_but_are_committed(
    kernel: Kernel, clock: ManualClock
) -> None:
    """An hourly job does not delay the archiving of a chat, and its messages are archived too."""
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    await kernel.schedule(CHAT, Every(120), Ask("Look."))
    for _ in range(6):
        clock.advance(minutes=2)
        await quiet(kernel)
    assert (await archives(kernel))[0][:2] == (1, "idle_timeout")
    for _ in range(6):
        clock.advance(minutes=2)
        await quiet(kernel)
    assert len(await archives(kernel)) >= 2


async def test_what_is_kept_is_nothing_to_wait_for(kernel: Kernel, clock: ManualClock) -> None:
    """A5.6, A7.6: the tail stays live until the next message."""
    policy = AutoCommitPolicy(enabled=True, idle_timeout_seconds=600, keep_recent_count=2)
    await kernel.log.write_all(CHAT, [("user", "one"), ("user", "two")], auto_commit_policy=policy)
    assert await members(kernel) == []
    await kernel.log.write(CHAT, "user", "three")
    assert await members(kernel) == [CHAT]
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await archives(kernel) == [(1, "idle_timeout", 1)]
    assert await members(kernel) == []


async def test_the_switch_is_off_and_on_again(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """A6.4, A6.5, A7.8: the policy is stored; no session is a member; no policy has to change."""
    on = await open_kernel()
    await on.log.write("web:0", "user", "hello", auto_commit_policy=BY_SILENCE)
    off = await open_kernel(settings=Settings(idle_commits=False))
    await off.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    assert await members(off) == []
    clock.advance(minutes=10)
    await quiet(off)
    assert await archives(off) == []
    assert await members(on) == []
    await on.log.write(CHAT, "user", "hello again")
    clock.advance(minutes=10)
    await quiet(on)
    assert await archives(on) == [(1, "idle_timeout", 2)]


@pytest.mark.parametrize(
    "policy", [None, AutoCommitPolicy(enabled=False, idle_timeout_seconds=600), BY_TOKENS]
)
async def test_a_member_leaves_with_its_reason(kernel: Kernel, policy: AutoCommitPolicy | None) -> None:
    """A7.7, A7.8."""
    await kernel.log.write(CHAT, "user", "hi", auto_commit_policy=BY_SILENCE)
    assert await members(kernel) == [CHAT]
    await kernel.sessions.update(CHAT, auto_commit_policy=policy)
    assert await members(kernel) == []


async def test_a_manual_commit_and_a_deletion_end_membership(kernel: Kernel) -> None:
    """A7.8, A13.1."""
    await kernel.log.write("web:a", "user", "hello", auto_commit_policy=BY_SILENCE)
    await kernel.log.write("web:b", "user", "hello", auto_commit_policy=BY_SILENCE)
    await kernel.memory.commit("web:a")
    assert await members(kernel) == ["web:b"]
    await kernel.sessions.delete("web:b")
    assert await members(kernel) == []


async def test_only_members_are_checked(kernel: Kernel, clock: ManualClock) -> None:
    """A9.2, A12.1: sessions that do not wait are not read."""
    for number in range(20):
        await kernel.log.write(f"web:{number}", "user", "hello")
    await kernel.log.write("web:due", "user", "hello", auto_commit_policy=BY_SILENCE)
    clock.advance(minutes=10)
    due = await kernel.memory_reader.due_commits(clock.ms(), 100)
    assert due == [(await kernel.sessions.get("web:due")).id]


async def test_a_restart_forgets_nothing(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """A8.1, A12.2, A12.5, A12.6, A9.3: a session that came due before it is committed in the first step."""
    first = await open_kernel()
    await first.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
    clock.advance(hours=1)
    second = await open_kernel()
    assert await second.workers.archivist.step() > 0
    assert await archives(second) == [(1, "idle_timeout", 1)]


class RecordingClock(ManualClock):
    """Records until when workers sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()
        self.until: int | None = None

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        self.until = until
        self.asleep.set()
        await super().wait(event, until)


async def test_the_archivist_checks_periodically_without_a_ring(open_kernel: OpenKernel) -> None:
    """A6.1, A9.3, A9.5: a check first, then a sleep of limited length, and a prompt stop."""
    clock = RecordingClock()
    kernel = await open_kernel(settings=Settings(commit_check_seconds=3.5), clock=clock)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.workers.archivist.run())
        await clock.asleep.wait()
        assert clock.until == clock.ms() + 3500
        running.cancel()


async def test_two_checks_and_two_reasons_make_one_archive(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """A10.1, A10.2, A10.3, A10.4."""
    both = AutoCommitPolicy(enabled=True, token_threshold=1, idle_timeout_seconds=1)
    one, two = await open_kernel(), await open_kernel()
    await one.log.write(CHAT, "user", LONG, auto_commit_policy=both)
    clock.advance(minutes=1)
    await asyncio.gather(*(kernel.workers.archivist.step() for kernel in (one, two, one, two)))
    assert await archives(one) == [(1, "token_threshold", 1)]


async def test_many_writes_at_once_make_one_commit(kernel: Kernel) -> None:
    """A10.4."""
    await kernel.sessions.open(CHAT, auto_commit_policy=BY_TOKENS)
    await asyncio.gather(*(kernel.log.write(CHAT, "user", LONG) for _ in range(20)))
    await quiet(kernel)
    assert await archives(kernel) == [(1, "token_threshold", 20)]


async def test_owners_are_committed_apart(kernel: Kernel) -> None:
    """A9.6, A10.5."""
    other = Owner("elsewhere", "other")
    await kernel.log.write(CHAT, "user", LONG, auto_commit_policy=BY_TOKENS)
    await kernel.log.write_all(CHAT, [("user", LONG)], owner=other, auto_commit_policy=BY_TOKENS)
    await quiet(kernel)
    mine, theirs = await kernel.memory.tasks(), await kernel.memory.tasks(owner=other)
    assert [task.owner for task in (*mine, *theirs)] == [Owner(), other]
    with pytest.raises(NotFound):
        await kernel.memory.task(theirs[0].id)


class Broken(FaultyStore):
    """A database on which no archive can be made."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, fail_at=0)
        self.broken = True

    def _counted(self, transaction: Transaction[T]) -> Transaction[T]:
        try:
            statement = next(transaction)
            while True:
                if self.broken and statement[0] is queries.archives.create:
                    raise RuntimeError("disk full, api_key=sk-123456789012")
                statement = transaction.send((yield statement))
        except StopIteration as end:
            result: T = end.value
            return result


async def test_a_commit_that_fails_is_reported_and_tried_again(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A11.1, A11.3: 60 s, then twice as long; and it stays a member."""
    database = Broken(await open_database(database_url))
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
        clock.advance(minutes=10)
        failed_at = clock.ms()
        await kernel.workers.archivist.step()
        live = (await kernel.sessions.get(CHAT)).live
        assert (live.last_error, live.last_error_at) == ("disk full, api_key=…", failed_at)
        assert live.commit_at == failed_at + 60_000
        assert await members(kernel) == [CHAT]
        clock.advance(minutes=1)
        await kernel.workers.archivist.step()
        assert (await kernel.sessions.get(CHAT)).live.commit_at == clock.ms() + 120_000
        database.broken = False
        clock.advance(minutes=2)
        await quiet(kernel)
        live = (await kernel.sessions.get(CHAT)).live
        assert (live.last_error, live.last_error_at, live.failures) == ("", None, 0)
        assert await archives(kernel) == [(1, "idle_timeout", 1)]
        assert not await kernel.audit()
    await database.close()


async def test_a_new_message_resets_the_pause_after_failed_commits(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """60 s doubling to 1 h, reset by a new message: the next silence is waited for as the first was."""
    database = Broken(await open_database(database_url))
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=BY_SILENCE)
        clock.advance(minutes=10)
        for _ in range(8):
            await kernel.workers.archivist.step()
            clock.advance(hours=1)
        await kernel.workers.archivist.step()
        assert (await kernel.sessions.get(CHAT)).live.commit_at == clock.ms() + 3_600_000
        await kernel.receive(CHAT, "are you there?")
        await quiet(kernel)
        live = (await kernel.sessions.get(CHAT)).live
        assert (live.failures, live.commit_at) == (0, clock.ms() + 600_000)
        assert live.last_error, "it stays until a commit succeeds"
        clock.advance(minutes=10)
        await kernel.workers.archivist.step()
        assert (await kernel.sessions.get(CHAT)).live.commit_at == clock.ms() + 60_000
        database.broken = False
        await kernel.log.write(CHAT, "user", "and now?")
        clock.advance(minutes=10)
        await quiet(kernel)
        assert await archives(kernel) == [(1, "idle_timeout", 4)]
        assert not await kernel.audit()
    await database.close()


async def test_one_that_fails_does_not_stop_the_others(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A9.4, A11.4."""
    database = Broken(await open_database(database_url))
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        for key in ("web:a", "web:b"):
            await kernel.log.write(key, "user", "hello", auto_commit_policy=BY_SILENCE)
        clock.advance(minutes=10)
        await kernel.workers.archivist.step()
        errors = [(await kernel.sessions.get(key)).live.last_error for key in ("web:a", "web:b")]
        assert all(errors)
    await database.close()


async def test_a_deleted_session_ends_its_task(kernel: Kernel) -> None:
    """A13.2."""
    await kernel.log.write(CHAT, "user", "hello")
    done = await kernel.memory.commit(CHAT)
    assert isinstance(done, ArchiveMade)
    await kernel.sessions.delete(CHAT)
    await quiet(kernel)
    task = await kernel.memory.task(done.task_id)
    assert task.state is TaskState.FAILED
    assert "no longer exists" in (task.error or "")


async def test_automatic_commits_keep_their_distance(kernel: Kernel, clock: ManualClock) -> None:
    """A14.4."""
    policy = AutoCommitPolicy(enabled=True, message_count_threshold=2, min_commit_interval_seconds=3600)
    await kernel.log.write_all(CHAT, [("user", "one"), ("user", "two")], auto_commit_policy=policy)
    await quiet(kernel)
    await kernel.log.write_all(CHAT, [("user", "three"), ("user", "four")])
    await quiet(kernel)
    assert await archives(kernel) == [(1, "message_count_threshold", 2)]
    clock.advance(hours=1)
    await quiet(kernel)
    assert await archives(kernel) == [
        (1, "message_count_threshold", 2),
        (2, "message_count_threshold", 2),
    ]


async def test_a_message_write_costs_no_statement_for_its_policy(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A14.6: one row is written per message, with a policy or without."""
    counting = FaultyStore(await open_database(database_url), fail_at=0)
    cost = []
    async with Kernel(counting, agent=agent, clock=clock) as kernel:
        for key, policy in {"web:plain": None, "web:idle": BY_SILENCE}.items():
            await kernel.sessions.open(key, auto_commit_policy=policy)
            before = counting.statements
            await kernel.log.write(key, "user", "hello")
            cost.append(counting.statements - before)
    assert cost[0] == cost[1]
    await counting.close()
