"""What becomes of a slot that came due: a pure function of the job's policy and the facts of the moment.

    decide(due, now)  ->  Fire       run a slot, and record the older ones that passed as missed
                          Pass       run nothing, and record why
                          Postpone   look at the same slot again later

The questions are asked in this order; the first that says no decides:

  1. is it time?        a clock may have been set back; a silence may have been broken since
  2. is the job over?   `max_runs`, `until`
  3. is it too late?    `late`, `grace_seconds`, `catch_up`: which of the slots that passed may still run
  4. is it alone?       `overlap`: an earlier run of the same job waits or runs
  5. is there room?     `busy`: the session is busy with somebody else

Invariants
  - every slot from the due one up to the next one is accounted for: fired, missed or skipped
  - one decision fires at most one slot
  - a job without a next slot says why it ended; only an idle one may wait unarmed instead
"""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from segue.model.policy import Busy, Late, Overlap, Policy
from segue.model.states import Outcome
from segue.record import positional, record
from segue.times.format import spoken
from segue.times.trigger import Every, Idle, Phase, Trigger

LATE_AFTER = timedelta(seconds=60)
"""A slot is on time for so long: timers, restarts and busy machines take their seconds."""

POSTPONED_BY = timedelta(seconds=60)

_MILLISECOND = timedelta(milliseconds=1)


@record
class DueSlot:
    """A job whose slot has come, and what is known about its session."""

    trigger: Trigger
    policy: Policy
    slot: datetime
    """The first slot that has neither run nor been recorded."""
    runs_so_far: int = 0
    queued_runs: int = 0
    """Runs of this job that wait in the lane."""
    running: bool = False
    """A run of this job is under way."""
    lane_busy: bool = False
    """A turn runs or waits in the session, no matter whose."""
    last_message_at: datetime | None = None
    put_off_until: datetime | None = None
    """When to look again at a slot that found its session busy."""
    put_off_because: str | None = None
    """What was stored with it; None too of what an older version put off."""


class End(StrEnum):
    """Why a job has no next slot."""

    RAN_ONCE = "ran once"
    PASSED_OVER = "its only slot was passed over"
    MAX_RUNS = "max_runs reached"
    UNTIL = "until passed"
    NO_SLOT = "no further slot"


BUSY = "busy: the session was at work"
AWAY = "no worker looked in time"

PUT_OFF = "put off: "
"""How the reason of a run begins that had to wait for its session before it came into the lane."""


@positional
class Missed:
    """So many slots, counted from this one, that passed and will not run: one row for all of them."""

    first: datetime
    count: int
    reason: str = AWAY


@record
class Fire:
    """Run that slot now."""

    slot: datetime
    missed: Missed | None = None
    next: datetime | None = None
    """The job's next slot; already past while `late = all` is catching up."""
    end: End | None = None
    reason: str | None = None
    """Why it was put off, if it was."""


@record
class PassOver:
    """Run nothing: `count` slots, counted from this one, are recorded as one row."""

    slot: datetime
    outcome: Outcome
    """Skipped or missed."""
    reason: str
    count: int = 1
    next: datetime | None = None
    end: End | None = None


@record
class Postpone:
    """Look at the same slot again at that moment."""

    until: datetime
    reason: str


Decision: TypeAlias = Fire | PassOver | Postpone


class _Pick(NamedTuple):
    """The slot that may run, of those that have come due."""

    slot: datetime
    catching_up: bool = False
    """It is a late one that `late = all` owes; it runs however many of its kind wait."""


def decide(due: DueSlot, now: datetime) -> Decision:
    if now < (slot := _true_slot(due)):
        moved = slot != due.slot
        return Postpone(until=slot, reason="a message broke the silence" if moved else "it is not time yet")
    if slot != due.slot:
        due = replace(due, slot=slot)
    if over := _over(due):
        return PassOver(slot=due.slot, outcome=Outcome.SKIPPED, reason=f"{over}: the job is over", end=over)
    pick = _pick(due, now)
    if pick is None:
        return _all_missed(due, now)
    if not pick.catching_up and (reason := _overlap(due)):
        return _skip(due, pick, now, reason)
    if _crowded_out(due):
        if due.policy.busy is Busy.SKIP:
            return _skip(due, pick, now, BUSY)
        return Postpone(until=now + POSTPONED_BY, reason=BUSY)
    return _fire(due, pick, now)


def _true_slot(due: DueSlot) -> datetime:
    """A silence begins anew with each message, and its slot moves along; other slots stay where they are."""
    if not isinstance(due.trigger, Idle) or due.last_message_at is None:
        return due.slot
    quiet_at = due.trigger.next_after(due.last_message_at)
    return due.slot if quiet_at is None else max(due.slot, quiet_at)


def _over(due: DueSlot) -> End | None:
    """The slot was promised, but the policy was tightened since."""
    if due.policy.max_runs is not None and due.runs_so_far >= due.policy.max_runs:
        return End.MAX_RUNS
    if due.policy.until is not None and due.slot > due.policy.until:
        return End.UNTIL
    return None


def _pick(due: DueSlot, now: datetime) -> _Pick | None:
    """The slot that may still run; None when every one of them is too late."""
    if keeps_no_appointments(due.trigger):
        return _Pick(due.slot)
    newest = due.trigger.latest_at_or_before(_last_moment(due, now), due.slot) or due.slot
    if due.policy.late is Late.ALL and (owed := _oldest_owed(due, newest, now)) is not None:
        return _Pick(owed, catching_up=True)
    if due.policy.late is Late.SKIP:
        return _Pick(newest) if _in_time(due, now) else None
    allowed = _grace(due) if due.policy.late is Late.RUN_ONCE else LATE_AFTER
    return _Pick(newest) if _lateness(due, newest, now) <= allowed else None


def _in_time(due: DueSlot, now: datetime) -> bool:
    """To skip is to let all of a gap go, also the slot at its end that would just be in time.

    One that was put off because its session was busy is no gap: somebody was there.
    """
    looked = due.put_off_until or due.slot
    return _lateness(due, looked, now) <= LATE_AFTER and _lateness(due, due.slot, now) <= _grace(due)


def _oldest_owed(due: DueSlot, newest: datetime, now: datetime) -> datetime | None:
    """The first of the late slots to catch up with. The newest may be on time; then it is not one of them."""
    on_time = _lateness(due, newest, now) <= LATE_AFTER
    slot = _before(due, newest) if on_time else newest
    owed = None
    for _ in range(due.policy.catch_up):
        if slot is None or _lateness(due, slot, now) > _grace(due):
            break
        owed = slot
        slot = _before(due, slot)
    return owed


def _before(due: DueSlot, slot: datetime) -> datetime | None:
    if slot <= due.slot:
        return None
    return due.trigger.latest_at_or_before(slot - _MILLISECOND, due.slot) or due.slot


def keeps_no_appointments(trigger: Trigger) -> bool:
    """Its slot says "not before", never "at": it cannot be late, and nothing is missed while it waits."""
    return isinstance(trigger, Idle) or (isinstance(trigger, Every) and trigger.phase is Phase.RELATIVE)


def _lateness(due: DueSlot, slot: datetime, now: datetime) -> timedelta:
    """Not counting the jitter, which is a delay that was asked for."""
    return now - slot - timedelta(seconds=due.policy.jitter_seconds)


def _grace(due: DueSlot) -> timedelta:
    return timedelta(seconds=due.policy.grace_seconds)


def _last_moment(due: DueSlot, now: datetime) -> datetime:
    """Slots beyond `until` are none of the job's."""
    return now if due.policy.until is None else min(now, due.policy.until)


def _overlap(due: DueSlot) -> str | None:
    """Why the job's own open runs keep a slot out of the lane."""
    if due.policy.overlap is Overlap.BUFFER_ALL:
        return None
    if due.queued_runs:
        return "overlap: an earlier run is still waiting"
    if due.running and due.policy.overlap is Overlap.SKIP:
        return "overlap: an earlier run has not ended"
    return None


def _crowded_out(due: DueSlot) -> bool:
    if due.policy.busy is Busy.WAIT:
        return False
    # Where the job's own runs make the lane busy, `overlap` has spoken already.
    return due.lane_busy and not due.running and not due.queued_runs


def _fire(due: DueSlot, pick: _Pick, now: datetime) -> Fire:
    older = _older(due, pick)
    following, end = _then(due, pick.slot if pick.catching_up else now, fired=True)
    return Fire(
        slot=pick.slot,
        missed=Missed(due.slot, older, _why_passed(due, now)) if older else None,
        next=following,
        end=end,
        reason=f"{PUT_OFF}{_put_off(due)}" if _put_off(due) and pick.slot == due.slot else None,
    )


def _put_off(due: DueSlot) -> str | None:
    """Why the slot was put off; an idle one, which has no moment to keep, never was."""
    if due.put_off_until is None or isinstance(due.trigger, Idle):
        return None
    return due.put_off_because or BUSY


def _why_passed(due: DueSlot, now: datetime) -> str:
    put_off = _put_off(due)
    if put_off is None or due.put_off_until is None:
        return AWAY
    away = _lateness(due, due.put_off_until, now) > LATE_AFTER
    return f"{put_off}, and then {AWAY}" if away else put_off


def _skip(due: DueSlot, pick: _Pick, now: datetime, reason: str) -> PassOver:
    count = 1 + _older(due, pick)
    following, end = _then(due, pick.slot if pick.catching_up else now, fired=False)
    return PassOver(
        slot=due.slot, outcome=Outcome.SKIPPED, reason=reason, count=count, next=following, end=end
    )


def _older(due: DueSlot, pick: _Pick) -> int:
    """How many slots from the due one on lie before the one that was picked."""
    return due.trigger.count_between(due.slot, pick.slot) if pick.slot > due.slot else 0


def _all_missed(due: DueSlot, now: datetime) -> PassOver:
    last = _last_moment(due, now)
    newest = due.trigger.latest_at_or_before(last, due.slot) or due.slot
    following, end = _then(due, now, fired=False)
    return PassOver(
        slot=due.slot,
        outcome=Outcome.MISSED,
        reason=_too_late(due, now - newest),
        count=1 + due.trigger.count_between(due.slot, last),
        next=following,
        end=end,
    )


def _too_late(due: DueSlot, lateness: timedelta) -> str:
    late = f"late: it came due {spoken(lateness, units=2)} ago"
    if put_off := _put_off(due):
        late = f"{late} and was put off ({put_off})"
    if due.policy.late is Late.SKIP:
        return f"{late}, and late slots are skipped"
    return f"{late}, and its grace is {spoken(_grace(due), units=2)}"


def _then(due: DueSlot, after: datetime, *, fired: bool) -> tuple[datetime | None, End | None]:
    """The slot that comes next, or why there is none."""
    if not due.trigger.repeats:
        return None, End.RAN_ONCE if fired else End.PASSED_OVER
    if fired and due.runs_so_far + 1 == due.policy.max_runs:
        return None, End.MAX_RUNS
    if isinstance(due.trigger, Idle):
        return None, None  # the next message arms it
    following = due.trigger.next_after(after)
    if following is None:
        return None, End.NO_SLOT
    if due.policy.until is not None and following > due.policy.until:
        return None, End.UNTIL
    return following, None
