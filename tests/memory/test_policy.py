"""The archiving policy of a session: valid values, storage, and its effect on the counts."""

import dataclasses

import pytest

from segue import Kernel, Owner, Settings
from segue.errors import BadPolicy
from segue.model.auto_commit import (
    AutoCommitPolicy,
    CommitLater,
    CommitNow,
    NeverCommit,
    Unarchived,
    next_look,
    pause_ms,
    verdict,
)
from segue.testing import ScriptedAgent, quiet
from tests.flows.house import OpenKernel

CHAT = "web:1"
ON = AutoCommitPolicy(enabled=True, token_threshold=8000, idle_timeout_seconds=1800, keep_recent_count=10)


async def policy_of(kernel: Kernel, key: str = CHAT) -> AutoCommitPolicy | None:
    return (await kernel.sessions.get(key)).live.policy


@pytest.mark.parametrize(
    "fields",
    [
        {"enabled": 1},
        {"enabled": True, "token_threshold": 0},
        {"enabled": True, "token_threshold": "8000"},
        {"enabled": True, "idle_timeout_seconds": 0},
        {"enabled": True, "idle_timeout_seconds": 1.5},
        {"enabled": True, "message_count_threshold": 0},
        {"enabled": True, "min_commit_interval_seconds": -1},
        {"enabled": True, "keep_recent_count": -1},
        {"enabled": True, "keep_recent_count": 10_001},
        {"enabled": True, "keep_recent_count": True},
        {"enabled": True, "tokens": 1},
        {"token_threshold": 1},
    ],
)
def test_a_policy_refuses_what_makes_no_sense(fields: dict[str, object]) -> None:
    """A1.2, A1.3, A1.4."""
    with pytest.raises(BadPolicy):
        AutoCommitPolicy.from_json(fields)


def test_what_is_left_out_is_off() -> None:
    """A1.3."""
    bare = AutoCommitPolicy.from_json({"enabled": True})
    assert (bare.token_threshold, bare.idle_timeout_seconds, bare.keep_recent_count) == (None, None, 0)


async def test_a_policy_is_kept_until_another_one_is_given(open_kernel: OpenKernel) -> None:
    """A1.1, A1.8, A2.4, A2.6: it survives the process, and is replaced as a whole."""
    first = await open_kernel()
    await first.log.write(CHAT, "user", "hello", auto_commit_policy=ON)
    await first.log.write(CHAT, "user", "again")
    second = await open_kernel()
    assert await policy_of(second) == ON
    other = AutoCommitPolicy(enabled=True, idle_timeout_seconds=60)
    await second.log.write(CHAT, "user", "once more", auto_commit_policy=other)
    assert await policy_of(first) == other


async def test_none_clears_a_policy_and_nothing_leaves_it(kernel: Kernel) -> None:
    """A2.5."""
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=ON)
    await kernel.log.write_all(CHAT, [("user", "one"), ("user", "two")])
    assert await policy_of(kernel) == ON
    await kernel.log.write_all(CHAT, [("user", "three")], auto_commit_policy=None)
    assert await policy_of(kernel) is None


async def test_a_session_before_the_feature_has_no_policy_and_no_error(kernel: Kernel) -> None:
    """A1.6, A1.7, A1.9."""
    await kernel.log.write(CHAT, "user", "hello")
    live = (await kernel.sessions.get(CHAT)).live
    assert (live.policy, live.last_error, live.last_error_at) == (None, "", None)
    kept = {field.name for field in dataclasses.fields(live)}
    assert not kept & {"auto_commit_pending", "auto_commit_in_flight_task_id"}


async def test_a_policy_copies_its_keep_count_and_recounts_at_once(kernel: Kernel) -> None:
    """A3.1, A3.2."""
    written = await kernel.log.write_all(CHAT, [("user", "one two three"), ("user", "four five six")])
    assert written.pending_tokens > 0
    await kernel.sessions.update(CHAT, auto_commit_policy=AutoCommitPolicy(enabled=True, keep_recent_count=2))
    overview = await kernel.sessions.overview(CHAT)
    assert (overview.session.live.keep_recent_count, overview.pending_tokens) == (2, 0)


@pytest.mark.parametrize("keep", [0, 1, 3, 100])
async def test_pending_tokens_are_those_of_all_but_the_kept(kernel: Kernel, keep: int) -> None:
    """A3.3, A3.4: after each append, and never below zero."""
    policy = AutoCommitPolicy(enabled=False, keep_recent_count=keep)
    sizes = []
    for number in range(1, 8):
        sizes.append(number)
        written = await kernel.log.write_all(CHAT, [("user", "abcd" * number)], auto_commit_policy=policy)
        assert written.message_count == number
        assert written.pending_tokens == sum(sizes[: max(0, len(sizes) - keep)])
        assert (await kernel.sessions.overview(CHAT)).pending_tokens == written.pending_tokens


@pytest.mark.parametrize(
    ("messages", "tokens", "kept_tokens", "keep", "uncommitted"),
    [
        pytest.param(0, 0, 0, 0, False, id="nothing"),
        pytest.param(1, 0, 0, 0, True, id="a message that counts no tokens"),
        pytest.param(2, 10, 10, 2, False, id="all of it kept"),
        pytest.param(3, 10, 10, 2, True, id="one more than is kept"),
        pytest.param(2, 10, 4, 2, True, id="tokens beyond those that are kept"),
    ],
)
def test_what_is_uncommitted_has_tokens_or_is_more_than_is_kept(
    messages: int, tokens: int, kept_tokens: int, keep: int, uncommitted: bool
) -> None:
    """A3.5."""
    live = Unarchived(messages=messages, tokens=tokens, kept_tokens=kept_tokens, keep_recent_count=keep)
    assert live.uncommitted is uncommitted


async def test_turns_are_counted_when_they_end(kernel: Kernel, agent: ScriptedAgent) -> None:
    """A3.6, A3.7: the counts are those of the log, for every author."""
    agent.script("abcd" * 5)
    await kernel.receive(CHAT, "abcd" * 3)
    await quiet(kernel)
    overview = await kernel.sessions.overview(CHAT)
    assert (overview.message_count, overview.pending_tokens) == (2, 8)


async def test_a_session_is_made_with_the_policy_it_is_given(kernel: Kernel) -> None:
    """A14.1."""
    opened = await kernel.sessions.open(CHAT, auto_commit_policy=ON)
    assert opened.session.live.policy == ON
    assert opened.session.live.keep_recent_count == 10


async def test_a_deployment_may_have_a_policy_for_all_new_sessions(open_kernel: OpenKernel) -> None:
    """A14.1: absent means the default, null means none."""
    kernel = await open_kernel(settings=Settings(auto_commit_policy=ON))
    await kernel.log.write("web:written", "user", "hello")
    await kernel.receive("web:received", "hello")
    await kernel.sessions.open("web:opened")
    await kernel.sessions.open("web:off", auto_commit_policy=None)
    policies = [await policy_of(kernel, f"web:{how}") for how in ("written", "received", "opened", "off")]
    assert policies == [ON, ON, ON, None]


async def test_a_patch_merges_the_fields_that_it_names(kernel: Kernel) -> None:
    """A14.2."""
    await kernel.sessions.open(CHAT, auto_commit_policy=ON)
    await kernel.sessions.update(CHAT, auto_commit_policy={"token_threshold": 5})
    assert await policy_of(kernel) == dataclasses.replace(ON, token_threshold=5)
    await kernel.sessions.update(CHAT, title="Travel")
    assert await policy_of(kernel) == dataclasses.replace(ON, token_threshold=5)
    with pytest.raises(BadPolicy, match="auto_commit_policy=null"):
        await kernel.sessions.update(CHAT, auto_commit_policy={"token_threshold": None})
    await kernel.sessions.update(CHAT, auto_commit_policy=None)
    assert await policy_of(kernel) is None
    with pytest.raises(BadPolicy, match="enabled"):
        await kernel.sessions.update(CHAT, auto_commit_policy={"token_threshold": 5})


async def test_the_same_key_of_another_user_has_its_own(kernel: Kernel) -> None:
    """A10.5."""
    other = Owner("default", "other")
    await kernel.log.write(CHAT, "user", "hello", auto_commit_policy=ON)
    await kernel.log.write(CHAT, "user", "hello", owner=other)
    assert (await kernel.sessions.get(CHAT, owner=other)).live.policy is None


LIVE = Unarchived(messages=3, tokens=100, policy=AutoCommitPolicy(enabled=True, idle_timeout_seconds=60))


def test_a_policy_that_is_off_never_commits() -> None:
    """A1.5."""
    off = dataclasses.replace(LIVE, policy=AutoCommitPolicy(enabled=False, token_threshold=1))
    assert verdict(off, 0, 10**9, idle_enabled=True) == NeverCommit()
    assert next_look(off, 0, 10**9) is None


def test_a_silence_is_counted_from_the_last_message() -> None:
    """A5.1, A5.4, A9.7."""
    assert verdict(LIVE, 1000, 60_999, idle_enabled=True) == CommitLater(61_000)
    assert verdict(LIVE, 1000, 61_000, idle_enabled=True) == CommitNow("idle_timeout")
    assert verdict(LIVE, 1000, 61_000, idle_enabled=False) == NeverCommit()
    nothing = dataclasses.replace(LIVE, messages=0, tokens=0)
    assert verdict(nothing, 1000, 61_000, idle_enabled=True) == NeverCommit()


def test_a_threshold_is_crossed_when_it_is_reached() -> None:
    """A4.1: at the threshold, not only beyond it."""
    at = dataclasses.replace(LIVE, policy=AutoCommitPolicy(enabled=True, token_threshold=100))
    below = dataclasses.replace(at, tokens=99)
    assert verdict(at, None, 5, idle_enabled=False) == CommitNow("token_threshold")
    assert verdict(below, None, 5, idle_enabled=False) == NeverCommit()
    assert next_look(at, None, 5) == 5
    assert next_look(below, None, 5) is None


def test_messages_beyond_the_kept_ones_are_counted() -> None:
    """A14.4."""
    policy = AutoCommitPolicy(enabled=True, message_count_threshold=2, keep_recent_count=2)
    live = dataclasses.replace(LIVE, policy=policy, keep_recent_count=2)
    assert verdict(live, None, 5, idle_enabled=False) == NeverCommit()
    assert verdict(dataclasses.replace(live, messages=4), None, 5, idle_enabled=False) == CommitNow(
        "message_count_threshold"
    )


def test_commits_keep_their_distance() -> None:
    """A14.4: measured from the last automatic one."""
    policy = AutoCommitPolicy(enabled=True, token_threshold=1, min_commit_interval_seconds=10)
    live = dataclasses.replace(LIVE, policy=policy, last_auto_commit_at=1000)
    assert verdict(live, None, 10_999, idle_enabled=True) == CommitLater(11_000)
    assert verdict(live, None, 11_000, idle_enabled=True) == CommitNow("token_threshold")
    assert next_look(live, None, 2000) == 11_000


def test_an_armed_silence_is_not_moved() -> None:
    """DESIGN 3.9."""
    assert next_look(LIVE, 1000, 1000) == 61_000
    assert next_look(dataclasses.replace(LIVE, commit_at=61_000), 5000, 5000) is None


def test_pauses_double_up_to_an_hour() -> None:
    assert [pause_ms(failures) // 1000 for failures in (1, 2, 3, 6, 7, 50)] == [
        60,
        120,
        240,
        1920,
        3600,
        3600,
    ]
