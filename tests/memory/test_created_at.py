"""Messages that are written with the time when they were said."""

from datetime import UTC, datetime, timedelta

import pytest

from segue import AutoCommitPolicy, Kernel
from segue.errors import BadTime
from segue.testing import ManualClock, quiet

CHAT = "web:1"
SAID = datetime(2024, 7, 14, 18, 30, tzinfo=UTC)
NOT_MOMENTS = [
    "2024-07-14",
    "2024-07-14T18:30:00",
    "yesterday",
    "",
    "2024-02-30T10:00:00Z",
    "1969-07-20T20:17:00Z",
    "20240714T183000Z",
    "2024-W29-7T18:30:00Z",
]


async def test_a_message_keeps_when_it_was_said_and_the_log_its_order(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.log.write(CHAT, "user", "now")
    message = await kernel.log.write(CHAT, "user", "then", created_at=SAID)
    await kernel.log.write_all(
        CHAT, [("user", "earlier still", "2024-01-01T00:00:00+01:00"), ("assistant", "ok")]
    )
    assert message.at == SAID.timestamp() * 1000
    found = await kernel.messages(CHAT)
    assert [each.content for each in found] == ["now", "then", "earlier still", "ok"]
    assert [each.seq for each in found] == sorted(each.seq for each in found)
    assert found[3].at == clock.ms()


async def test_a_message_from_the_future_is_refused(kernel: Kernel, clock: ManualClock) -> None:
    with pytest.raises(BadTime, match="not in the future"):
        await kernel.log.write(CHAT, "user", "later", created_at=clock.now() + timedelta(seconds=1))
    await kernel.log.write(CHAT, "user", "this moment", created_at=clock.now())
    assert [each.content for each in await kernel.messages(CHAT)] == ["this moment"]


async def test_what_is_no_moment_is_refused_and_nothing_is_written(
    kernel: Kernel, subtests: pytest.Subtests
) -> None:
    await kernel.log.write(CHAT, "user", "first")
    for text in NOT_MOMENTS:
        with subtests.test(text=text):
            with pytest.raises(BadTime, match="created_at"):
                await kernel.log.write_all(CHAT, [("user", "good"), ("user", "bad", text)])
            with pytest.raises(BadTime, match="zone"):
                await kernel.log.write(CHAT, "user", "naive", created_at=SAID.replace(tzinfo=None))
            assert len(await kernel.messages(CHAT)) == 1


async def test_the_idle_clock_runs_from_the_writing(kernel: Kernel, clock: ManualClock) -> None:
    policy = AutoCommitPolicy(enabled=True, idle_timeout_seconds=600)
    await kernel.log.write(CHAT, "user", "an old story", created_at=SAID, auto_commit_policy=policy)
    clock.advance(minutes=9)
    await quiet(kernel)
    assert await kernel.memory.archives(CHAT) == []
    clock.advance(minutes=1)
    await quiet(kernel)
    (archive,) = await kernel.memory.archives(CHAT)
    assert archive.reason == "idle_timeout"
    assert (await kernel.sessions.get(CHAT)).last_message_at == archive.created_at - 600_000


async def test_the_least_interval_between_commits_is_not_upset(kernel: Kernel, clock: ManualClock) -> None:
    policy = AutoCommitPolicy(enabled=True, message_count_threshold=1, min_commit_interval_seconds=3_600)
    await kernel.log.write(CHAT, "user", "one", created_at=SAID, auto_commit_policy=policy)
    await quiet(kernel)
    await kernel.log.write(CHAT, "user", "two", created_at=SAID)
    await quiet(kernel)
    assert len(await kernel.memory.archives(CHAT)) == 1
    clock.advance(hours=1)
    await quiet(kernel)
    assert len(await kernel.memory.archives(CHAT)) == 2


async def test_context_and_search_say_when_something_was_said(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "I live in Rome. The parrot sings.", created_at=SAID)
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    found = await kernel.memory.search("the parrot in the summer of 2024")
    assert found[0].memory.created_at == SAID.timestamp() * 1000
    context = await kernel.memory.context(CHAT, asked="Where do I live, and the parrot?")
    notes = context.as_messages()[-1].content
    assert "I live in Rome. (14 Jul 2024)" in notes
    assert "(14 Jul 2024)\nuser: I live in Rome." in notes


async def test_an_older_statement_does_not_replace_a_newer_one(kernel: Kernel) -> None:
    await kernel.log.write("web:new", "user", "I live in Bern.")
    await kernel.memory.commit("web:new")
    await quiet(kernel)
    await kernel.log.write("web:old", "user", "I live in Rome.", created_at=SAID)
    await kernel.memory.commit("web:old")
    await quiet(kernel)
    assert [each.content for each in await kernel.memory.list()] == ["I live in Bern."]
