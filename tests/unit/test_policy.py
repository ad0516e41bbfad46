import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from segue.errors import BadPolicy
from segue.model.policy import Busy, Crash, Late, Overlap, Policy, backoff, jittered

NOON = datetime(2025, 11, 20, 12, tzinfo=UTC)


def test_an_empty_policy_has_the_defaults_of_the_contract() -> None:
    assert Policy().to_json() == {
        "late": "run_once",
        "grace_seconds": 86_400,
        "busy": "wait",
        "overlap": "buffer_one",
        "retries": 0,
        "jitter_seconds": 0,
        "max_runs": None,
        "until": None,
        "timeout_seconds": 900,
        "crash": "auto",
        "catch_up": 10,
        "budget": None,
        "when": None,
        "otherwise": None,
        "renew_after": None,
        "quiet": None,
        "tell": None,
    }


def test_a_policy_goes_through_json() -> None:
    policy = Policy(
        late=Late.ALL,
        grace_seconds=60.5,
        busy=Busy.POSTPONE,
        overlap=Overlap.BUFFER_ALL,
        retries=3,
        jitter_seconds=30,
        max_runs=7,
        until=NOON,
        timeout_seconds=10,
        crash=Crash.RERUN,
        catch_up=100,
    )
    assert Policy.from_json(policy.to_json()) == policy
    assert policy.to_json()["until"] == "2025-11-20T12:00:00+00:00"


def test_a_policy_may_name_only_what_it_changes() -> None:
    assert Policy.from_json({"late": "skip"}) == Policy(late=Late.SKIP)
    assert Policy.from_json({}) == Policy()


def test_a_policy_read_from_words_has_members_not_words() -> None:
    assert Policy.from_json({"busy": "skip"}).busy is Busy.SKIP


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("late", "sometimes", "late is one of run_once, skip, all; got 'sometimes'"),
        ("late", None, "late is one of"),
        ("busy", 5, "busy is one of wait, postpone, skip; got 5"),
        ("overlap", [], "overlap is one of"),
        ("crash", "RERUN", "crash is one of auto, close, rerun"),
        ("grace_seconds", -1, "grace_seconds is a number from 1 to 315,360,000; got -1"),
        ("grace_seconds", 0, "grace_seconds is a number"),
        ("grace_seconds", float("nan"), "grace_seconds is a number"),
        ("grace_seconds", float("inf"), "grace_seconds is a number"),
        ("grace_seconds", "60", "grace_seconds is a number"),
        ("grace_seconds", None, "grace_seconds is a number"),
        ("retries", -1, "retries is a whole number from 0 to 100"),
        ("retries", 1.5, "retries is a whole number"),
        ("retries", True, "retries is a whole number"),
        ("jitter_seconds", 86_401, "jitter_seconds is a number from 0 to 86,400"),
        ("max_runs", 0, "max_runs is a whole number from 1"),
        pytest.param("max_runs", 10**5000, "max_runs is a whole number", id="enormous"),
        ("timeout_seconds", 0, "timeout_seconds is a number from 1 to 604,800"),
        ("catch_up", 101, "catch_up is a whole number from 1 to 100"),
        ("until", datetime(2025, 1, 1), "until is a moment with a zone"),  # noqa: DTZ001
        ("until", "2025-01-01T00:00:00", "until is a moment with a zone"),
        ("until", "tomorrow", "until is a moment with a zone"),
        ("until", 5, "until is a moment with a zone"),
        ("until", datetime(9999, 1, 1, tzinfo=UTC), "until is a moment with a zone"),
    ],
)
def test_a_value_out_of_its_range_is_refused_with_the_range(field: str, value: Any, complaint: str) -> None:
    with pytest.raises(BadPolicy, match=complaint):
        Policy(**{field: value})
    with pytest.raises(BadPolicy, match=complaint):
        Policy.from_json({field: value})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"grace": 5}, "no field 'grace'; did you mean grace_seconds?"),
        ({"xyzzy": 5}, "no field 'xyzzy'; it has late, grace_seconds"),
        ({5: 5}, "no field 5"),
        ([], "a policy is an object"),
        (None, "a policy is an object"),
    ],
)
def test_an_unknown_field_is_refused_with_the_nearest_known_one(data: Any, complaint: str) -> None:
    with pytest.raises(BadPolicy, match=complaint.replace("?", r"\?")):
        Policy.from_json(data)


def test_jitter_is_the_same_in_every_process_and_another_for_every_slot() -> None:
    policy = Policy(jitter_seconds=60)
    slots = [NOON + timedelta(minutes=n) for n in range(200)]
    delays = [jittered(slot, policy, "job-1") - slot for slot in slots]
    assert jittered(NOON, policy, "job-1") == NOON + timedelta(seconds=50.871)
    assert delays == [jittered(slot, policy, "job-1") - slot for slot in slots]
    assert all(timedelta(0) <= delay < timedelta(seconds=60) for delay in delays)
    assert len(set(delays)) > 190
    assert delays != [jittered(slot, policy, "job-2") - slot for slot in slots]


def test_jitter_keeps_to_whole_milliseconds() -> None:
    look = jittered(NOON, Policy(jitter_seconds=1), "job-1")
    assert look.microsecond % 1000 == 0


def test_without_jitter_a_slot_is_looked_at_when_it_comes() -> None:
    assert jittered(NOON, Policy(), "job-1") == NOON


def test_backoff_doubles_its_limit_up_to_ten_minutes() -> None:
    for attempt, limit in [(1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (10_000, 600)]:
        rng = random.Random(7)
        waits = [backoff(attempt, rng).total_seconds() for _ in range(300)]
        assert 0 <= min(waits) < limit * 0.1
        assert limit * 0.9 < max(waits) <= limit
