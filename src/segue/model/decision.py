"""The decision about a due slot: a pure function of the job's policy and the current facts.

    decide(due, now)  ->  Fire       run a slot, and record the older ones that passed as missed
                          PassOver   run nothing, and record why
                          Postpone   look at the same slot again later

The checks are made in this order; the first that fails decides:

  1. is it time?         a clock may have been set back; a message may have broken the silence; the time zone
                         may have new rules
  2. has the job ended?  `max_runs`, `until`
  3. may it speak?       `quiet`: in quiet hours it waits for their end, or is skipped; a night is one record
  4. is it too late?     `late`, `grace_seconds`, `catch_up`: which of the slots that passed may still run
  5. is it alone?        `overlap`: an earlier run of the same job waits or runs
  6. is the lane free?   `busy`: another turn runs or waits in the session, or it waits for its user
  7. is it wanted?       `when`: conditions on the conversation; `renew_after`: reports that no user answers

Invariants
  - every slot from the due one up to the next one is accounted for: fired, missed or skipped
  - one decision fires at most one slot
  - a job without a next slot says why it ended; only an idle one may wait unarmed instead
"""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from segue.model.conditions.check import ConversationFacts, unmet
from segue.model.conditions.vocabulary import Otherwise
from segue.model.policy import Busy, Late, Overlap, Policy
from segue.model.quiet.choices import Quiet
from segue.model.quiet.hours import QuietHours, QuietWindow
from segue.model.states import Outcome
from segue.record import positional, record
from segue.times.format import spoken
from segue.times.trigger import Cron, Every, Idle, Phase, RRule, Trigger

LATE_AFTER = timedelta(seconds=60)
"""A slot counts as on time for this long: timers, restarts and busy machines take some seconds."""

POSTPONED_BY = timedelta(seconds=60)
CONDITION_POSTPONED_BY = timedelta(hours=1)

LARGEST_ZONE_CHANGE = timedelta(hours=3)
"""By how much new rules of a time zone may move a stored slot. What is further away is another slot."""

_MILLISECOND = timedelta(milliseconds=1)


@record
class DueSlot:
    """A job with a due slot, and the state of its session."""

    trigger: Trigger
    policy: Policy
    slot: datetime
    """The first slot that has neither run nor been recorded."""
    runs_so_far: int = 0
    queued_runs: int = 0
    """Runs of this job that wait in the lane."""
    running: bool = False
    """A run of this job is running."""
    lane_busy: bool = False
    """Any turn runs or waits in the session."""
    waits_for_user: bool = False
    """The session's agent has asked the user a question."""
    last_message_at: datetime | None = None
    put_off_until: datetime | None = None
    """When to look again at a slot that found its session busy."""
    put_off_because: str | None = None
    """The stored reason; also None for a slot that an older version put off."""
    conversation: ConversationFacts | None = None
    """Read only for a job with conditions."""
    unanswered_runs: int = 0
    """Reports in a row that no user answered; read only for a job with `renew_after`."""
    quiet: "QuietRule | None" = None
    """Set for a job that keeps quiet in the quiet hours of its session."""


@positional
class QuietRule:
    """The quiet hours of the session that a job's turn runs in, and whether its slots are skipped then."""

    hours: QuietHours
    zone: str
    skips: bool = False

    def window_at(self, moment: datetime) -> QuietWindow | None:
        return self.hours.window_at(moment, self.zone)


def quiet_rule(choice: Quiet, hours: QuietHours | None, zone: str) -> QuietRule | None:
    """The rule for a job's slots; None for a job that runs in quiet hours."""
    if hours is None or choice not in (Quiet.DEFER, Quiet.SKIP):
        return None
    return QuietRule(hours, zone, choice is Quiet.SKIP)


class End(StrEnum):
    """Why a job has no next slot."""

    RAN_ONCE = "ran once"
    PASSED_OVER = "its only slot was passed over"
    MAX_RUNS = "max_runs reached"
    UNTIL = "until passed"
    NO_SLOT = "no further slot"
    CONDITION = "its condition no longer holds"


BUSY = "busy: the session was at work"
WAITS = "busy: the session waits for the user's answer"
AWAY = "no worker looked in time"

SNOOZED = "snoozed by a reply"

RENEW = "renew: "
"""The beginning of the stored reason of a slot at which a job asked whether to go on."""

PUT_OFF = "put off: "
"""The beginning of the stored reason of a run that was put off before it entered the lane."""


@positional
class Missed:
    """`count` slots, from `first` on, that passed and will not run: one row for all of them."""

    first: datetime
    count: int
    reason: str = AWAY
    outcome: Outcome = Outcome.MISSED
    """Skipped if they passed in quiet hours."""


@record
class Fire:
    """Run this slot now."""

    slot: datetime
    missed: Missed | None = None
    next: datetime | None = None
    """The job's next slot; already in the past while `late = all` is catching up."""
    end: End | None = None
    reason: str | None = None
    """Why it was put off, if it was."""
    extra: bool = False
    """It is no slot of the schedule: a user snoozed the job. It does not count for `max_runs`."""

    @property
    def ends_snooze(self) -> bool:
        return self.extra


@record
class PassOver:
    """Run nothing: `count` slots, from `slot` on, are recorded as one row."""

    slot: datetime
    outcome: Outcome
    """Skipped or missed."""
    reason: str
    count: int = 1
    next: datetime | None = None
    end: End | None = None
    question: str | None = None
    """The job is paused with the reason, and its session is asked this."""
    extra: bool = False
    """As in `Fire`."""

    @property
    def ends_snooze(self) -> bool:
        """Whether the extra run of a snooze is over, or no longer wanted."""
        return self.extra or self.question is not None or self.end is End.CONDITION


@record
class Postpone:
    """Look at the same slot again at `until`."""

    until: datetime
    reason: str
    or_message: bool = False
    """Look earlier if a user writes."""


Decision: TypeAlias = Fire | PassOver | Postpone


class _Pick(NamedTuple):
    """The one of the due slots that may run."""

    slot: datetime
    catching_up: bool = False
    """A late slot that `late = all` catches up with; it runs even if other runs of the job wait."""
    night: QuietWindow | None = None
    """The quiet hours in which it lies, and which have ended."""


def decide(due: DueSlot, now: datetime) -> Decision:
    """Returns what to do with the due slot at this moment."""
    if now < (slot := _current_slot(due)):
        return Postpone(until=slot, reason="it is not time yet" if slot == due.slot else _why_moved(due))
    if slot != due.slot:
        due = replace(due, slot=slot)
    if end := _end(due):
        return PassOver(slot=due.slot, outcome=Outcome.SKIPPED, reason=f"{end}: the job is over", end=end)
    if due.quiet is not None and (quiet := _quiet(due, due.quiet, now)):
        return quiet
    pick = _pick(due, now)
    if pick is None:
        return _all_missed(due, now)
    if not pick.catching_up and (reason := _overlap(due)):
        return _skip(due, pick, now, reason)
    if reason := _blocked(due):
        if due.policy.busy is Busy.SKIP:
            return _skip(due, pick, now, reason)
        return Postpone(until=now + POSTPONED_BY, reason=reason)
    return _unwanted(due, pick, now) or _fire(due, pick, now)


def fire_snoozed(trigger: Trigger, snoozed_to: datetime, slot: datetime | None) -> Fire:
    """Run a snoozed job once more; its next slot stays. The lane decides when, as for any run."""
    end = None
    if slot is None and not isinstance(trigger, Idle):
        end = End.NO_SLOT if trigger.repeats else End.RAN_ONCE
    return Fire(slot=snoozed_to, next=slot, end=end, reason=SNOOZED, extra=True)


def _current_slot(due: DueSlot) -> datetime:
    """The slot of an idle job moves with each message; one of a wall clock, with the rules of its zone."""
    match due.trigger:
        case Idle() if due.last_message_at is not None:
            return max(due.slot, due.trigger.next_after(due.last_message_at) or due.slot)
        case Cron() | RRule():
            slot = due.trigger.next_after(due.slot - _MILLISECOND) or due.slot
            return slot if slot - due.slot <= LARGEST_ZONE_CHANGE else due.slot
    return due.slot


def _why_moved(due: DueSlot) -> str:
    return "a message broke the silence" if isinstance(due.trigger, Idle) else "its time zone has new rules"


def _end(due: DueSlot) -> End | None:
    """Why the job has ended before this slot: its policy was tightened after the slot was set."""
    if due.policy.max_runs is not None and due.runs_so_far >= due.policy.max_runs:
        return End.MAX_RUNS
    if due.policy.until is not None and due.slot > due.policy.until:
        return End.UNTIL
    return None


def _quiet(due: DueSlot, rule: QuietRule, now: datetime) -> PassOver | Postpone | None:
    """What happens to a slot in quiet hours. None: there are none, or the job's run at their end is due."""
    if window := rule.window_at(now):
        if rule.skips:
            return _skip_until(due, window)
        return Postpone(until=window.end, reason=window.reason)
    night = rule.window_at(due.slot)
    if night and (rule.skips or _has_later_slot(due, night, now)):
        return _skip_until(due, night)
    return None


def _has_later_slot(due: DueSlot, night: QuietWindow, now: datetime) -> bool:
    """Whether a slot after the quiet hours is due: it runs for those of the night too."""
    return not keeps_no_appointments(due.trigger) and _newest(due, now) >= night.end


def _skip_until(due: DueSlot, window: QuietWindow) -> PassOver:
    """Skip all slots up to the end of a window. The timer looks again at the first one after it."""
    last = max(due.slot, _last_moment(due, window.end - _MILLISECOND))
    single = keeps_no_appointments(due.trigger)
    following, end = _next_slot(due, window.end if single else last, fired=False)
    return PassOver(
        slot=due.slot,
        outcome=Outcome.SKIPPED,
        reason=window.reason,
        count=1 if single else 1 + due.trigger.count_between(due.slot, last),
        next=following,
        end=end,
    )


def _newest(due: DueSlot, now: datetime) -> datetime:
    return due.trigger.latest_at_or_before(_last_moment(due, now), due.slot) or due.slot


def _pick(due: DueSlot, now: datetime) -> _Pick | None:
    """The slot that may still run; None when all are too late."""
    if keeps_no_appointments(due.trigger):
        return _Pick(due.slot)
    newest = _newest(due, now)
    if due.quiet and (night := due.quiet.window_at(due.slot)):
        # It was to run when the quiet hours ended, and is late from then on.
        allowed = LATE_AFTER if due.policy.late is Late.SKIP else max(LATE_AFTER, _grace(due))
        return _Pick(newest, night=night) if _lateness(due, night.end, now) <= allowed else None
    if due.policy.late is Late.ALL and (owed := _oldest_owed(due, newest, now)) is not None:
        return _Pick(owed, catching_up=True)
    if due.policy.late is Late.SKIP:
        return _Pick(newest) if _in_time(due, now) else None
    allowed = _grace(due) if due.policy.late is Late.RUN_ONCE else LATE_AFTER
    return _Pick(newest) if _lateness(due, newest, now) <= allowed else None


def _in_time(due: DueSlot, now: datetime) -> bool:
    """With `late = skip`, all slots of a gap are skipped, even the last one if it is just in time.

    A slot that was put off because its session was busy is no gap: a worker was running.
    """
    looked = due.put_off_until or due.slot
    return _lateness(due, looked, now) <= LATE_AFTER and _lateness(due, due.slot, now) <= _grace(due)


def _oldest_owed(due: DueSlot, newest: datetime, now: datetime) -> datetime | None:
    """The first of the late slots to catch up with. The newest slot is not one of them if it is on time."""
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
    """Whether a slot means "not before" and not "at": it cannot be late, and nothing is missed."""
    return isinstance(trigger, Idle) or (isinstance(trigger, Every) and trigger.phase is Phase.RELATIVE)


def _lateness(due: DueSlot, slot: datetime, now: datetime) -> timedelta:
    """Without the jitter, which is a requested delay."""
    return now - slot - timedelta(seconds=due.policy.jitter_seconds)


def _grace(due: DueSlot) -> timedelta:
    return timedelta(seconds=due.policy.grace_seconds)


def _last_moment(due: DueSlot, now: datetime) -> datetime:
    """Slots after `until` do not belong to the job."""
    return now if due.policy.until is None else min(now, due.policy.until)


def _overlap(due: DueSlot) -> str | None:
    """Why the job's own unfinished runs keep a slot out of the lane."""
    if due.policy.overlap is Overlap.BUFFER_ALL:
        return None
    if due.queued_runs:
        return "overlap: an earlier run is still waiting"
    if due.running and due.policy.overlap is Overlap.SKIP:
        return "overlap: an earlier run has not ended"
    return None


def _blocked(due: DueSlot) -> str | None:
    """Why the slot may not enter the lane: because of the user, or of turns other than the job's own."""
    if due.policy.busy is Busy.WAIT:
        return None
    if due.waits_for_user:
        return WAITS
    # If the job's own runs make the lane busy, `overlap` has already decided.
    return BUSY if due.lane_busy and not due.running and not due.queued_runs else None


def _unwanted(due: DueSlot, pick: _Pick, now: datetime) -> PassOver | Postpone | None:
    """What happens to a slot whose conditions do not hold, or whose reports no user answers."""
    policy, conversation = due.policy, due.conversation
    if policy.when and conversation is not None and (reason := unmet(policy.when, conversation, now)):
        if policy.otherwise is Otherwise.POSTPONE:
            return Postpone(until=now + CONDITION_POSTPONED_BY, reason=reason, or_message=True)
        skipped = _skip(due, pick, now, reason)
        if policy.otherwise is Otherwise.END:
            return replace(skipped, next=None, end=End.CONDITION)
        return skipped
    if policy.renew_after is not None and due.unanswered_runs >= policy.renew_after:
        reason = f"{RENEW}no user answered the last {policy.renew_after}"
        question = f"No answer to the last {policy.renew_after}. Keep it, change it or stop it?"
        return replace(_skip(due, pick, now, reason), next=None, end=None, question=question)
    return None


def _fire(due: DueSlot, pick: _Pick, now: datetime) -> Fire:
    older = _older(due, pick)
    following, end = _next_slot(due, pick.slot if pick.catching_up else now, fired=True)
    return Fire(
        slot=pick.slot,
        missed=_passed_before(due, pick, older, now) if older else None,
        next=following,
        end=end,
        reason=_why_late(due, pick),
    )


def _passed_before(due: DueSlot, pick: _Pick, count: int, now: datetime) -> Missed:
    if pick.night:
        return Missed(due.slot, count, pick.night.reason, Outcome.SKIPPED)
    return Missed(due.slot, count, _why_passed(due, now))


def _why_late(due: DueSlot, pick: _Pick) -> str | None:
    if pick.night:
        return f"{PUT_OFF}{pick.night.reason}"
    return f"{PUT_OFF}{_put_off(due)}" if _put_off(due) and pick.slot == due.slot else None


def _put_off(due: DueSlot) -> str | None:
    """Why the slot was put off. The slot of an idle job is never put off: it only moves."""
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
    following, end = _next_slot(due, pick.slot if pick.catching_up else now, fired=False)
    return PassOver(
        slot=due.slot, outcome=Outcome.SKIPPED, reason=reason, count=count, next=following, end=end
    )


def skipped_instead(fire: Fire, due: DueSlot, now: datetime, reason: str) -> PassOver:
    """The decision to skip a slot that was about to run. A skipped run is not one of `max_runs`."""
    following, end = fire.next, fire.end
    if following is None and not fire.extra:
        following, end = _next_slot(due, fire.slot if due.policy.late is Late.ALL else now, fired=False)
    return PassOver(
        slot=fire.missed.first if fire.missed else fire.slot,
        outcome=Outcome.SKIPPED,
        reason=reason,
        count=1 + (fire.missed.count if fire.missed else 0),
        next=following,
        end=end,
        extra=fire.extra,
    )


def _older(due: DueSlot, pick: _Pick) -> int:
    """How many slots from the due one on lie before the picked one."""
    return due.trigger.count_between(due.slot, pick.slot) if pick.slot > due.slot else 0


def _all_missed(due: DueSlot, now: datetime) -> PassOver:
    last = _last_moment(due, now)
    following, end = _next_slot(due, now, fired=False)
    return PassOver(
        slot=due.slot,
        outcome=Outcome.MISSED,
        reason=_too_late(due, now - _newest(due, now)),
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


def _next_slot(due: DueSlot, after: datetime, *, fired: bool) -> tuple[datetime | None, End | None]:
    """The job's next slot, or why there is none."""
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
