"""Quiet hours and digests, as pure values: windows, choices of jobs, and how long an answer waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from segue import Ask, At, Call, Cron, Job, JobKind, Policy, Say
from segue.errors import BadPolicy, BadSetting
from segue.model.decision import DueSlot, PassOver, Postpone, QuietRule, decide
from segue.model.prompts import Mode
from segue.model.quiet.choices import Quiet
from segue.model.quiet.digest import Digest, compose
from segue.model.quiet.holding import SpeakingHours, choice_of, wait_of
from segue.model.quiet.hours import NONE, QuietHours, stored_hours
from segue.model.records import Delivery, Source
from segue.model.schedule import draft
from segue.model.states import DeliveryState, Outcome

NIGHT = QuietHours("22:00", "07:00")
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)  # a Monday


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("moment", "end"),
    [
        ("2026-11-16T21:59:59.999+00:00", None),
        ("2026-11-16T22:00:00+00:00", "2026-11-17T07:00:00+00:00"),  # the start counts
        ("2026-11-17T00:00:00+00:00", "2026-11-17T07:00:00+00:00"),
        ("2026-11-17T06:59:59.999+00:00", "2026-11-17T07:00:00+00:00"),
        ("2026-11-17T07:00:00+00:00", None),  # the end does not
    ],
)
def test_a_window_over_midnight_contains_its_start_and_not_its_end(moment: str, end: str | None) -> None:
    window = NIGHT.window_at(at(moment), "UTC")
    assert (window.end if window else None) == (at(end) if end else None)


def test_the_days_are_those_on_which_a_window_begins() -> None:
    party = QuietHours.from_json({"from": "22:00", "to": "07:00", "days": ["sat", "fri"]})
    assert party.days == ("fri", "sat")
    open_at = [
        day
        for day in range(7)
        if party.window_at(datetime(2026, 11, 16 + day, 3, tzinfo=UTC), "UTC")  # Monday on
    ]
    assert open_at == [5, 6], "the nights after Friday and Saturday"
    weekdays = QuietHours.from_json({"from": "12:00", "to": "13:00", "days": "weekdays"})
    assert not weekdays.window_at(datetime(2026, 11, 21, 12, 30, tzinfo=UTC), "UTC")


@pytest.mark.parametrize(
    ("hours", "zone", "moment", "start", "end"),
    [
        # Clocks go from 2:00 to 3:00: the night is an hour shorter, and its end is wall time.
        (
            NIGHT,
            "Europe/Berlin",
            "2026-03-29T01:30+00:00",
            "2026-03-28T21:00+00:00",
            "2026-03-29T05:00+00:00",
        ),
        # Clocks go from 3:00 to 2:00: an hour longer.
        (
            NIGHT,
            "Europe/Berlin",
            "2026-10-25T01:30+00:00",
            "2026-10-24T20:00+00:00",
            "2026-10-25T06:00+00:00",
        ),
        # An end that the clocks jump over is the end of the jump, as for a cron line.
        (
            QuietHours("22:00", "02:30"),
            "Europe/Berlin",
            "2026-03-29T00:30+00:00",
            "2026-03-28T21:00+00:00",
            "2026-03-29T01:00+00:00",
        ),
        # Of two equal times the first ends it.
        (
            QuietHours("22:00", "02:30"),
            "Europe/Berlin",
            "2026-10-25T00:00+00:00",
            "2026-10-24T20:00+00:00",
            "2026-10-25T00:30+00:00",
        ),
    ],
)
def test_a_window_is_wall_time_when_the_clocks_change(
    hours: QuietHours, zone: str, moment: str, start: str, end: str
) -> None:
    window = hours.window_at(at(moment), zone)
    assert window is not None
    assert (window.start, window.end) == (at(start), at(end))


@pytest.mark.parametrize(
    "given",
    [
        {"from": "22:00", "to": "22:00"},
        {"from": "22:00", "to": "21:30"},  # longer than 23 hours
        {"from": "24:00", "to": "07:00"},
        {"from": "9:00", "to": "10:00"},
        {"from": "22", "to": "07:00"},
        {"from": 22, "to": 7},
        {"from": "22:00"},
        {"from": "22:00", "to": "07:00", "day": "all"},
        {"from": "22:00", "to": "07:00", "days": []},
        {"from": "22:00", "to": "07:00", "days": ["monday"]},
        {"from": "22:00", "to": "07:00", "days": "weekend"},
        {"from": "22:00", "to": "07:00", "days": [["mon"]]},
        "22:00-07:00",
        [],
    ],
)
def test_quiet_hours_that_cannot_be_meant_are_refused(given: object) -> None:
    with pytest.raises(BadSetting):
        QuietHours.from_json(given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"at": "8:00"},
        {"at": None},
        {"every_seconds": 59},
        {"every_seconds": 86_401},
        {"every_seconds": True},
        {"every_seconds": "3600"},
        {"every_seconds": float("nan")},
        {"at": "08:00", "every_seconds": 3600},
        "08:00",
    ],
)
def test_a_digest_that_cannot_be_meant_is_refused(given: object) -> None:
    with pytest.raises(BadSetting):
        Digest.from_json(given)


def test_values_are_read_as_they_were_written() -> None:
    for hours in (NIGHT, QuietHours("09:00", "10:30", ("mon",)), NONE):
        assert stored_hours(hours.to_json()) == hours
    assert NIGHT.to_json() == {"from": "22:00", "to": "07:00", "days": "all"}
    assert NONE.window_at(NOON, "UTC") is None
    for digest in (Digest(at="08:00"), Digest(every_seconds=3600)):
        assert Digest.from_json(digest.to_json()) == digest


def test_a_policy_names_its_choices_and_an_older_worker_reads_one_without_them() -> None:
    policy = Policy.from_json({"quiet": "hold", "tell": "digest"})
    assert Policy.stored(policy.to_json()) == policy
    assert (Policy().to_json()["quiet"], Policy().to_json()["tell"]) == (None, None)
    assert policy.changed({"quiet": None, "tell": None}) == Policy()
    for wrong in ({"quiet": "silent"}, {"tell": "later"}):
        with pytest.raises(BadPolicy):
            Policy.from_json(wrong)
    assert Policy.stored({"quiet": "whisper"}).unreadable, "a job with it is paused"


def job(trigger: Any = None, action: Any = None, *, kind: JobKind | None = None, **policy: Any) -> Job:
    trigger = trigger or Cron("0 * * * *", tz="UTC")
    made = Policy.from_json(policy)
    return draft("job", trigger, action or Ask("?"), 0, account="a", name="n", policy=made, kind=kind)


@pytest.mark.parametrize(
    ("made", "choice"),
    [
        (job(), Quiet.DEFER),
        (job(action=Ask("?", mode=Mode.SAY)), Quiet.DEFER),
        (job(action=Ask("?", mode=Mode.CHECK)), Quiet.SKIP),
        (job(At(NOON)), Quiet.THROUGH),  # its user named that very time
        (job(At(NOON), quiet="defer"), Quiet.DEFER),
        (job(At(NOON), kind=JobKind.RECALL), Quiet.DEFER),
        (job(At(NOON), Say("!")), Quiet.THROUGH),
        (job(At(NOON), Say("!"), quiet="skip"), Quiet.THROUGH),  # a written message is punctual
        (job(action=Call("function")), Quiet.THROUGH),
        (job(quiet="hold"), Quiet.HOLD),
    ],
)
def test_what_is_usual_for_a_job_in_quiet_hours(made: Job, choice: Quiet) -> None:
    assert choice_of(made) is choice


def due(slot: str, **fields: Any) -> DueSlot:
    trigger = fields.pop("trigger", Cron("*/15 * * * *", tz="UTC"))
    return DueSlot(trigger=trigger, policy=Policy(), slot=at(slot), quiet=QuietRule(NIGHT, "UTC"), **fields)


def test_a_slot_that_is_late_when_quiet_hours_begin_waits_for_their_end_too() -> None:
    decision = decide(due("2026-11-16T21:45+00:00"), at("2026-11-16T22:10+00:00"))
    end = at("2026-11-17T07:00+00:00")
    assert decision == Postpone(until=end, reason="quiet hours until 07:00")


def test_a_night_without_a_worker_is_one_record_and_the_day_goes_on_as_always() -> None:
    decision = decide(due("2026-11-16T22:00+00:00"), at("2026-11-17T09:10+00:00"))
    assert isinstance(decision, PassOver)
    assert (decision.outcome, decision.count, decision.reason) == ("skipped", 36, "quiet hours until 07:00")
    assert decision.next == at("2026-11-17T07:00+00:00")


def test_a_job_that_ends_at_night_ends_with_its_skipped_slots() -> None:
    slot = due("2026-11-16T22:00+00:00")
    until = at("2026-11-16T23:00+00:00")
    skips = replace(slot, quiet=QuietRule(NIGHT, "UTC", skips=True), policy=Policy(until=until))
    decision = decide(skips, at("2026-11-16T22:00+00:00"))
    assert isinstance(decision, PassOver)
    assert (decision.count, decision.next, str(decision.end)) == (5, None, "until passed")


BOTH = SpeakingHours(quiet=NIGHT, digest=Digest(at="18:00"), zone="UTC")


@pytest.mark.parametrize(
    ("policy", "outcome", "now", "waits"),
    [
        ({}, Outcome.OK, "2026-11-16T12:00+00:00", None),
        ({}, Outcome.OK, "2026-11-16T23:00+00:00", "2026-11-17T07:00+00:00"),
        ({"tell": "digest"}, Outcome.OK, "2026-11-16T12:00+00:00", "2026-11-16T18:00+00:00"),
        ({"tell": "digest"}, Outcome.EMPTY, "2026-11-16T12:00+00:00", "2026-11-16T18:00+00:00"),
        ({"tell": "digest"}, Outcome.OK, "2026-11-16T23:00+00:00", "2026-11-17T18:00+00:00"),
        ({"tell": "digest", "quiet": "through"}, Outcome.OK, "2026-11-16T12:00+00:00", None),
        *[
            ({"tell": "digest"}, outcome, "2026-11-16T23:00+00:00", None)
            for outcome in (Outcome.ERROR, Outcome.ASKED, Outcome.STOPPED, Outcome.INTERRUPTED)
        ],
    ],
)
def test_how_long_an_answer_waits(
    policy: dict[str, Any], outcome: Outcome, now: str, waits: str | None
) -> None:
    wait = wait_of(job(**policy), outcome, BOTH, at(now))
    assert (wait.latest if wait else None) == (at(waits) if waits else None)


def test_no_answer_waits_longer_than_a_day() -> None:
    """A digest in quiet hours waits for their end, but not longer."""
    hours = SpeakingHours(quiet=QuietHours("08:00", "12:00"), digest=Digest(at="08:30"), zone="UTC")
    now = at("2026-11-16T12:00+00:00")
    wait = wait_of(job(tell="digest"), Outcome.OK, hours, now)
    assert wait is not None
    assert wait.latest == now + timedelta(hours=24)


def test_an_interval_joins_any_message_in_time() -> None:
    hours = SpeakingHours(quiet=None, digest=Digest(every_seconds=3600), zone="UTC")
    wait = wait_of(job(tell="digest"), Outcome.OK, hours, NOON)
    assert wait is not None
    assert (wait.earliest, wait.latest) == (NOON, NOON + timedelta(hours=1))


def answer(number: int, name: str, slot: int) -> Delivery:
    source = Source(kind="cron", job_id=name, label=name, run_id=f"{name}:{slot}")
    return Delivery(
        id=f"d{number}",
        session_id="s",
        run_id=None,
        turn_id=f"t{number}",
        channel="test",
        chat_id="1",
        content=f"{name} at {slot}.",
        source=source,
        state=DeliveryState.PENDING,
        not_before=0,
        fence=0,
        attempt=0,
        created_at=number,
        sent_at=None,
        sent_message_id=None,
        error=None,
    )


def test_a_digest_has_a_heading_for_each_job_and_its_answers_by_slot() -> None:
    answers = [answer(1, "Weather", 20), answer(2, "Builds", 10), answer(3, "Weather", 5)]
    assert compose(answers) == (
        "**Weather**\n\nWeather at 5.\n\nWeather at 20.\n\n**Builds**\n\nBuilds at 10."
    )
