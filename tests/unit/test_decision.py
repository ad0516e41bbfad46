from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.model.decision import Decision, DueSlot, End, Fire, Missed, PassOver, Postpone, decide
from segue.model.policy import Busy, Late, Overlap, Policy
from segue.model.states import Outcome
from segue.times.trigger import At, Cron, Every, Idle, Phase

NOON = datetime(2025, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

HOURLY = Every(HOUR, start=NOON)
MINUTELY = Every(MINUTE, start=NOON)
RECALL = Every(HOUR, phase=Phase.RELATIVE)


def due(trigger: Any = HOURLY, slot: datetime = NOON, **facts: Any) -> DueSlot:
    policy = {name: facts.pop(name) for name in list(facts) if name in Policy.__slots__}
    return DueSlot(trigger=trigger, policy=Policy(**policy), slot=slot, **facts)


def test_a_slot_on_time_fires_and_names_the_next() -> None:
    assert decide(due(), NOON + SECOND) == Fire(slot=NOON, next=NOON + HOUR)


def test_a_one_shot_fires_and_is_over() -> None:
    assert decide(due(At(NOON)), NOON) == Fire(slot=NOON, end=End.RAN_ONCE)


def test_a_clock_that_was_set_back_postpones() -> None:
    assert decide(due(), NOON - HOUR) == Postpone(until=NOON, reason="it is not time yet")


class TestNewRulesOfTheZone:
    """A slot was stored at 08:00 UTC; then the zone got rules by which nine o'clock is an hour later."""

    nine = Cron("0 9 * * *", tz="Europe/London")
    stored = NOON.replace(hour=8)

    def test_a_slot_that_is_now_later_waits(self) -> None:
        assert decide(due(self.nine, self.stored), self.stored) == Postpone(
            until=self.stored + HOUR, reason="its time zone has new rules"
        )

    def test_and_fires_once_that_day(self) -> None:
        fired = decide(due(self.nine, self.stored), self.stored + HOUR)
        assert fired == Fire(slot=self.stored + HOUR, next=self.stored + HOUR + DAY)

    def test_a_slot_that_should_have_been_earlier_fires_at_once(self) -> None:
        late = self.stored + 2 * HOUR
        assert decide(due(self.nine, late), late) == Fire(slot=late, next=self.stored + HOUR + DAY)


class TestLate:
    """Three days without a worker."""

    now = NOON + 3 * DAY + 20 * MINUTE

    def test_run_once_runs_the_newest_and_counts_the_others_as_missed(self) -> None:
        assert decide(due(), self.now) == Fire(
            slot=NOON + 72 * HOUR, missed=Missed(NOON, 72), next=NOON + 73 * HOUR
        )

    def test_run_once_misses_all_when_the_newest_is_past_its_grace(self) -> None:
        assert decide(due(grace_seconds=600), self.now) == PassOver(
            slot=NOON,
            outcome=Outcome.MISSED,
            reason="late: it came due 20 min ago, and its grace is 10 min",
            count=73,
            next=NOON + 73 * HOUR,
        )

    def test_the_grace_itself_is_still_in_time(self) -> None:
        assert isinstance(decide(due(grace_seconds=1200), self.now), Fire)

    def test_skip_runs_none_of_them(self) -> None:
        assert decide(due(late=Late.SKIP), self.now) == PassOver(
            slot=NOON,
            outcome=Outcome.MISSED,
            reason="late: it came due 20 min ago, and late slots are skipped",
            count=73,
            next=NOON + 73 * HOUR,
        )

    def test_skip_runs_not_even_the_last_of_a_gap(self) -> None:
        assert isinstance(decide(due(late=Late.SKIP), NOON + 72 * HOUR + 10 * SECOND), PassOver)

    def test_skip_runs_a_slot_that_is_on_time(self) -> None:
        assert decide(due(late=Late.SKIP), NOON + 60 * SECOND) == Fire(slot=NOON, next=NOON + HOUR)
        assert isinstance(decide(due(late=Late.SKIP), NOON + 61 * SECOND), PassOver)

    def test_all_runs_the_newest_of_them_in_order(self) -> None:
        first = decide(due(late=Late.ALL, catch_up=5), self.now)
        assert first == Fire(slot=NOON + 68 * HOUR, missed=Missed(NOON, 68), next=NOON + 69 * HOUR)
        second = decide(due(slot=NOON + 69 * HOUR, late=Late.ALL, catch_up=5), self.now)
        assert second == Fire(slot=NOON + 69 * HOUR, next=NOON + 70 * HOUR)

    def test_all_runs_only_what_is_within_the_grace(self) -> None:
        decision = decide(due(late=Late.ALL, grace_seconds=7200, catch_up=100), self.now)
        assert decision == Fire(slot=NOON + 71 * HOUR, missed=Missed(NOON, 71), next=NOON + 72 * HOUR)

    def test_all_runs_a_slot_that_is_just_within_the_grace(self) -> None:
        decision = decide(due(late=Late.ALL, grace_seconds=4800), self.now)
        assert isinstance(decision, Fire)
        assert decision.slot == self.now - 80 * MINUTE

    def test_all_misses_all_when_none_is_within_the_grace(self) -> None:
        decision = decide(due(late=Late.ALL, grace_seconds=600), self.now)
        assert isinstance(decision, PassOver)
        assert (decision.outcome, decision.count) == (Outcome.MISSED, 73)

    def test_a_one_shot_past_its_grace_is_missed_and_says_how_late(self) -> None:
        assert decide(due(At(NOON)), self.now) == PassOver(
            slot=NOON,
            outcome=Outcome.MISSED,
            reason="late: it came due 3 d 20 min ago, and its grace is 1 d",
            end=End.PASSED_OVER,
        )

    def test_a_one_shot_within_its_grace_fires_late(self) -> None:
        assert decide(due(At(NOON)), NOON + 23 * HOUR) == Fire(slot=NOON, end=End.RAN_ONCE)

    def test_a_cron_line_is_judged_like_an_interval(self) -> None:
        daily = Cron("0 12 * * *", tz="UTC")
        assert decide(due(daily), self.now) == Fire(
            slot=NOON + 3 * DAY, missed=Missed(NOON, 3), next=NOON + 4 * DAY
        )

    @pytest.mark.parametrize("late", Late)
    def test_a_relative_interval_fires_once_and_rests(self, late: Late) -> None:
        assert decide(due(RECALL, late=late), self.now) == Fire(slot=NOON, next=self.now + HOUR)

    def test_a_delay_that_jitter_asked_for_is_not_lateness(self) -> None:
        now = NOON + 5 * MINUTE
        assert isinstance(decide(due(late=Late.SKIP, jitter_seconds=300), now), Fire)
        assert isinstance(decide(due(grace_seconds=1, jitter_seconds=300), now), Fire)
        assert isinstance(decide(due(late=Late.SKIP, jitter_seconds=200), now), PassOver)


def decisions_until_caught_up(due: DueSlot, now: datetime, *, queue: bool = True) -> list[Decision]:
    """Every decision until the job has caught up; what fires waits in the lane."""
    decisions: list[Decision] = []
    while True:
        decision = decide(due, now)
        decisions.append(decision)
        if isinstance(decision, Postpone) or decision.next is None or decision.next > now:
            return decisions
        fired = int(isinstance(decision, Fire))
        due = replace(
            due,
            slot=decision.next,
            runs_so_far=due.runs_so_far + fired,
            queued_runs=due.queued_runs + fired * queue,
            lane_busy=due.lane_busy or bool(fired and queue),
        )


def fired(decisions: list[Decision]) -> list[datetime]:
    return [decision.slot for decision in decisions if isinstance(decision, Fire)]


def test_catching_up_is_not_an_overlap() -> None:
    now = NOON + 3 * DAY + 30 * MINUTE
    decisions = decisions_until_caught_up(due(late=Late.ALL), now)
    assert fired(decisions) == [NOON + n * HOUR for n in range(63, 73)]


def test_a_slot_that_is_on_time_behind_a_gap_is_an_ordinary_one() -> None:
    now = NOON + 3 * DAY
    decisions = decisions_until_caught_up(due(MINUTELY, late=Late.ALL), now)
    assert fired(decisions) == [now - n * MINUTE for n in range(10, 0, -1)]
    last = decisions[-1]
    assert isinstance(last, PassOver)
    assert (last.slot, last.count) == (now, 1)
    assert last.reason.startswith("overlap")


def test_max_runs_ends_a_catch_up_too() -> None:
    decisions = decisions_until_caught_up(due(late=Late.ALL, max_runs=3), NOON + DAY - MINUTE)
    assert len(fired(decisions)) == 3
    last = decisions[-1]
    assert isinstance(last, Fire)
    assert (last.next, last.end) == (None, End.MAX_RUNS)


WAITS = {"queued_runs": 1, "lane_busy": True}
RUNS = {"running": True, "lane_busy": True}


@pytest.mark.parametrize(
    ("overlap", "open_runs", "goes_on"),
    [
        (Overlap.BUFFER_ONE, {}, True),
        (Overlap.BUFFER_ONE, RUNS, True),
        (Overlap.BUFFER_ONE, WAITS, False),
        (Overlap.BUFFER_ONE, WAITS | RUNS, False),
        (Overlap.SKIP, {}, True),
        (Overlap.SKIP, RUNS, False),
        (Overlap.SKIP, WAITS, False),
        (Overlap.BUFFER_ALL, RUNS, True),
        (Overlap.BUFFER_ALL, WAITS, True),
        (Overlap.BUFFER_ALL, {"queued_runs": 50, "running": True, "lane_busy": True}, True),
    ],
)
@pytest.mark.parametrize("busy", Busy)
def test_overlap(overlap: Overlap, open_runs: dict[str, Any], goes_on: bool, busy: Busy) -> None:
    """If the job's own runs make the lane busy, `busy` does not apply."""
    decision = decide(due(overlap=overlap, busy=busy, **open_runs), NOON)
    if goes_on:
        assert decision == Fire(slot=NOON, next=NOON + HOUR)
    else:
        assert isinstance(decision, PassOver)
        assert decision.outcome is Outcome.SKIPPED
        assert decision.reason.startswith("overlap: ")
        assert (decision.slot, decision.count, decision.next) == (NOON, 1, NOON + HOUR)


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        (Busy.WAIT, Fire(slot=NOON, next=NOON + HOUR)),
        (Busy.POSTPONE, Postpone(until=NOON + 61 * SECOND, reason="busy: the session was at work")),
        (
            Busy.SKIP,
            PassOver(
                slot=NOON,
                outcome=Outcome.SKIPPED,
                reason="busy: the session was at work",
                next=NOON + HOUR,
            ),
        ),
    ],
)
def test_busy(busy: Busy, expected: Decision) -> None:
    assert decide(due(busy=busy, lane_busy=True), NOON + SECOND) == expected
    assert decide(due(busy=busy), NOON + SECOND) == Fire(slot=NOON, next=NOON + HOUR)


def test_a_skipped_slot_takes_the_older_ones_with_it() -> None:
    decision = decide(due(busy=Busy.SKIP, lane_busy=True), NOON + 5 * HOUR)
    assert isinstance(decision, PassOver)
    assert (decision.slot, decision.count, decision.next) == (NOON, 6, NOON + 6 * HOUR)


@pytest.mark.parametrize(
    "facts", [{"busy": Busy.SKIP, "lane_busy": True}, {"overlap": Overlap.SKIP, "running": True}]
)
def test_a_one_shot_that_is_passed_over_ends(facts: dict[str, Any]) -> None:
    decision = decide(due(At(NOON), **facts), NOON)
    assert isinstance(decision, PassOver)
    assert (decision.next, decision.end) == (None, End.PASSED_OVER)


def test_the_last_of_max_runs_ends_the_job() -> None:
    assert decide(due(max_runs=3, runs_so_far=1), NOON) == Fire(slot=NOON, next=NOON + HOUR)
    assert decide(due(max_runs=3, runs_so_far=2), NOON) == Fire(slot=NOON, end=End.MAX_RUNS)


def test_a_run_that_was_skipped_does_not_count_towards_max_runs() -> None:
    decision = decide(due(max_runs=1, busy=Busy.SKIP, lane_busy=True), NOON)
    assert isinstance(decision, PassOver)
    assert decision.next == NOON + HOUR


def test_the_last_slot_before_until_ends_the_job() -> None:
    assert decide(due(until=NOON + HOUR), NOON) == Fire(slot=NOON, next=NOON + HOUR)
    assert decide(due(until=NOON + HOUR - SECOND), NOON) == Fire(slot=NOON, end=End.UNTIL)
    assert decide(due(until=NOON), NOON + SECOND) == Fire(slot=NOON, end=End.UNTIL)


def test_slots_after_until_are_neither_run_nor_missed() -> None:
    decision = decide(due(until=NOON + 2 * HOUR), NOON + 5 * HOUR)
    assert decision == Fire(slot=NOON + 2 * HOUR, missed=Missed(NOON, 2), end=End.UNTIL)


@pytest.mark.parametrize(
    ("facts", "end"),
    [({"until": NOON - SECOND}, End.UNTIL), ({"max_runs": 2, "runs_so_far": 2}, End.MAX_RUNS)],
)
def test_a_policy_that_was_tightened_ends_the_job_at_its_next_slot(facts: dict[str, Any], end: End) -> None:
    decision = decide(due(**facts), NOON)
    assert isinstance(decision, PassOver)
    assert (decision.outcome, decision.next, decision.end) == (Outcome.SKIPPED, None, end)


def test_the_last_slot_of_the_calendar_ends_the_job() -> None:
    eve = datetime(8999, 12, 31, 23, 30, tzinfo=UTC)
    assert decide(due(Every(HOUR, start=eve), slot=eve), eve) == Fire(slot=eve, end=End.NO_SLOT)


class TestPutOff:
    """The recorded reasons of slots that passed while the session was busy."""

    def looked_at(self, now: datetime, until: datetime, slot: datetime = NOON) -> Decision:
        facts = due(Every(MINUTE, start=NOON), slot=slot, busy=Busy.POSTPONE)
        return decide(replace(facts, put_off_until=until, put_off_because="busy: X"), now)

    def test_the_slot_itself_says_that_it_was_put_off(self) -> None:
        decision = decide(replace(due(busy=Busy.POSTPONE), put_off_until=NOON + MINUTE), NOON + MINUTE)
        assert decision == Fire(
            slot=NOON, next=NOON + HOUR, reason="put off: busy: the session was at work"
        ), "what an older version put off was busy, too"

    def test_the_slots_that_passed_in_that_time_say_why(self) -> None:
        decision = self.looked_at(NOON + 3 * MINUTE, until=NOON + 3 * MINUTE)
        assert isinstance(decision, Fire)
        assert (decision.slot, decision.reason) == (NOON + 3 * MINUTE, None)
        assert decision.missed == Missed(NOON, 3, "busy: X")

    def test_then_no_worker_looked(self) -> None:
        decision = self.looked_at(NOON + 30 * MINUTE, until=NOON + MINUTE)
        assert isinstance(decision, Fire)
        assert decision.missed == Missed(NOON, 30, "busy: X, and then no worker looked in time")

    def test_one_that_was_put_off_for_longer_than_its_grace_says_so(self) -> None:
        facts = replace(due(busy=Busy.POSTPONE, grace_seconds=300), put_off_until=NOON + 10 * MINUTE)
        decision = decide(facts, NOON + 10 * MINUTE)
        assert isinstance(decision, PassOver)
        assert decision.reason == (
            "late: it came due 10 min ago and was put off (busy: the session was at work), "
            "and its grace is 5 min"
        )


class TestIdle:
    quiet = Idle(1800)

    def test_a_silence_that_lasted_fires_and_waits_for_the_next_message(self) -> None:
        heard = NOON - 30 * MINUTE
        assert decide(due(self.quiet, last_message_at=heard), NOON) == Fire(slot=NOON)

    def test_a_later_message_moves_the_slot(self) -> None:
        decision = decide(due(self.quiet, last_message_at=NOON - MINUTE), NOON)
        assert decision == Postpone(until=NOON + 29 * MINUTE, reason="a message broke the silence")

    def test_a_silence_noticed_late_fires_for_the_moment_it_was_complete(self) -> None:
        decision = decide(due(self.quiet, last_message_at=NOON - MINUTE), NOON + HOUR)
        assert decision == Fire(slot=NOON + 29 * MINUTE)

    @pytest.mark.parametrize("late", Late)
    def test_a_silence_is_never_too_late(self, late: Late) -> None:
        decision = decide(due(self.quiet, last_message_at=NOON - HOUR, late=late), NOON + 30 * DAY)
        assert decision == Fire(slot=NOON)

    def test_a_session_that_never_spoke_keeps_the_slot(self) -> None:
        assert decide(due(self.quiet), NOON) == Fire(slot=NOON)

    def test_a_busy_session_may_skip_it_until_the_next_message(self) -> None:
        decision = decide(due(self.quiet, busy=Busy.SKIP, lane_busy=True), NOON)
        assert isinstance(decision, PassOver)
        assert (decision.next, decision.end) == (None, None)

    def test_max_runs_ends_it(self) -> None:
        assert decide(due(self.quiet, max_runs=1), NOON) == Fire(slot=NOON, end=End.MAX_RUNS)


@given(
    trigger=st.sampled_from([HOURLY, MINUTELY, Cron("*/7 * * * *", tz="UTC"), Cron("0 9 * * 1-5", tz="UTC")]),
    gap=st.timedeltas(timedelta(0), 4 * DAY),
    late=st.sampled_from(Late),
    overlap=st.sampled_from(Overlap),
    busy=st.sampled_from(Busy),
    grace=st.integers(1, 500_000),
    catch_up=st.integers(1, 12),
    lane_busy=st.booleans(),
)
def test_every_slot_is_accounted_for_once(
    trigger: Every | Cron,
    gap: timedelta,
    late: Late,
    overlap: Overlap,
    busy: Busy,
    grace: int,
    catch_up: int,
    lane_busy: bool,
) -> None:
    slot = trigger.next_after(NOON)
    assert slot is not None
    now = slot + gap
    policy = Policy(late=late, overlap=overlap, busy=busy, grace_seconds=grace, catch_up=catch_up)
    decisions = decisions_until_caught_up(
        DueSlot(trigger=trigger, policy=policy, slot=slot, lane_busy=lane_busy), now
    )
    if isinstance(decisions[-1], Postpone):
        assert busy is Busy.POSTPONE
        return
    assert decisions[-1].next == trigger.next_after(now)
    counted = 0
    for decision in decisions:
        assert not isinstance(decision, Postpone)
        counted += decision.count if isinstance(decision, PassOver) else 1
        if isinstance(decision, Fire) and decision.missed:
            counted += decision.missed.count
    assert counted == 1 + trigger.count_between(slot, now)
    assert len(fired(decisions)) <= (catch_up + 1 if late is Late.ALL else 1)
