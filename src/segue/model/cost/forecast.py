"""Forecast: plays the jobs of a session on a virtual clock, through the same `decide` as the timer.

It knows no user's messages: what depends on them (a job after a silence, conditions, a busy session) is
said, not guessed. A run is expected to take the median of the job's past runs, which shows where two runs of
one session meet. Budgets are played with what past runs used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import heapify, heappop, heappush
from zoneinfo import ZoneInfo

from segue.model.action import Say
from segue.model.cost.budget import Estimate, Over
from segue.model.cost.past_runs import PastRuns, Spread
from segue.model.cost.played_budgets import PlayedBudget, PlayedBudgets
from segue.model.decision import (
    Decision,
    DueSlot,
    Fire,
    PassOver,
    Postpone,
    decide,
    fire_snoozed,
    quiet_rule,
    skipped_instead,
)
from segue.model.explain import clock_note, day_note
from segue.model.policy import jittered
from segue.model.quiet.holding import SpeakingHours, choice_of
from segue.model.records import Job
from segue.model.states import Outcome
from segue.record import positional, record
from segue.times.clock import to_moment
from segue.times.days.working_days import Shift
from segue.times.format import spoken
from segue.times.trigger import Cron, Every, Idle, RRule, Trigger

MOST_DAYS = 366
MOST_SLOTS = 5_000
"""More slots than this are counted, not played and not listed."""

_MOST_LOOKS = 50_000
"""A job that is put off looks again each minute."""

_JUST = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
_MEDIAN = "by the median length of past runs"


class ForecastVerdict(StrEnum):
    RUN = "run"
    SKIPPED = "skipped"
    MISSED = "missed"
    DAY_OFF = "day_off"
    """The cron line names it, and its day set leaves it out: no slot."""
    DEPENDS = "depends"
    """On messages that may still come."""


@record
class ForecastSlot:
    job_id: str
    slot: datetime
    verdict: ForecastVerdict
    reason: str | None = None
    note: str | None = None
    """How a change of the clocks affects it, or what its day set says."""
    count: int = 1
    """How many slots it stands for."""
    collides_with: str | None = None
    """The id of the job whose run is expected to be in its way."""


@record
class JobForecast:
    """What is expected of one job. The amounts are sums over its runs."""

    job: Job
    past: PastRuns
    runs: int = 0
    skipped: int = 0
    missed: int = 0
    days_off: int = 0
    collisions: int = 0
    depends: str | None = None
    """Why its slots are not known."""

    @property
    def slots(self) -> int:
        return self.runs + self.skipped + self.missed

    @property
    def tokens(self) -> Spread | None:
        return self.past.tokens.times(self.runs) if self.past.tokens else None

    @property
    def usd(self) -> Spread | None:
        return self.past.usd.times(self.runs) if self.past.usd else None


@record
class Forecast:
    start: datetime
    end: datetime
    jobs: Sequence[JobForecast]
    slots: Sequence[ForecastSlot]
    """In the order of their moments; empty if they are only counted."""
    listed: bool
    """False: there are more than `MOST_SLOTS`. They are counted as if each of them ran."""

    def total(self, name: str) -> int:
        return sum(getattr(each, name) for each in self.jobs)

    @property
    def tokens(self) -> Spread | None:
        return _sum(each.tokens for each in self.jobs if each.runs)

    @property
    def usd(self) -> Spread | None:
        return _sum(each.usd for each in self.jobs if each.runs)

    @property
    def runs_without_price(self) -> int:
        """Runs that are not in the sum, because no past run of their job has a known price."""
        return sum(each.runs for each in self.jobs if each.past.usd is None)

    @property
    def past_without_price(self) -> int:
        """Past runs that had no known price."""
        return sum(each.past.without_price for each in self.jobs)


NO_RUNS = PastRuns(runs=0, length_ms=0, tokens=None, usd=None, without_price=0)


def forecast(
    jobs: Sequence[Job],
    now: datetime,
    until: datetime,
    *,
    past: Mapping[str, PastRuns],
    last_message_at: datetime | None = None,
    budgets: Mapping[str, PlayedBudget] | None = None,
    of_session: PlayedBudget | None = None,
    first: Mapping[str, Estimate] | None = None,
    hours: SpeakingHours | None = None,
) -> Forecast:
    """What the active jobs of a session will do until a moment. `past` and `budgets` are by job id.

    `first` too: what a run of a job is expected to use if its past does not tell. `hours`: of the session
    that their turns run in.
    """
    # Of jobs that are due in one moment the older one comes first.
    lines = [_Line(job, past.get(job.id, NO_RUNS), hours) for job in sorted(jobs, key=lambda job: job.id)]
    for line in lines:
        if isinstance(line.job.trigger, Idle):
            line.depends = "on messages: it runs after a silence, and each message restarts the wait"
        elif line.job.policy.when:
            line.depends = "on what is said until then: it runs only if its conditions hold"
        elif (most := line.job.policy.renew_after) is not None:
            line.depends = f"on answers: after {most} runs without one it asks whether to go on"
    slots: list[ForecastSlot] | None = None
    if sum(slots_until(line.job, until) for line in lines) <= MOST_SLOTS:
        played = PlayedBudgets(budgets or {}, of_session, first or {}, now)
        slots = _Play(lines, now, until, last_message_at, played).run()
    if slots is None:
        for line in lines:
            line.runs = slots_until(line.job, until)
            line.skipped = line.missed = line.collisions = 0
    off = [each for line in lines for each in _days_off(line, now, until, listed=slots is not None)]
    listed = sorted([*(slots or ()), *off], key=lambda each: (each.slot, each.job_id))
    return Forecast(
        start=now,
        end=until,
        jobs=[line.result() for line in lines],
        slots=listed,
        listed=slots is not None,
    )


class _Line:
    """One job while it is played."""

    def __init__(self, job: Job, past: PastRuns, hours: SpeakingHours | None) -> None:
        self.job, self.past = job, past
        self.quiet = quiet_rule(choice_of(job), hours.quiet, hours.zone) if hours else None
        self.slot = None if job.slot is None else to_moment(job.slot)
        self.look_at = None if job.next_at is None else to_moment(job.next_at)
        self.snoozed_to = None if job.snoozed_to is None else to_moment(job.snoozed_to)
        self.put_off: str | None = job.state_reason
        self.run_count = job.run_count
        self.runs = self.skipped = self.missed = self.days_off = self.collisions = 0
        self.depends: str | None = None

    @property
    def in_lane(self) -> bool:
        return not isinstance(self.job.action, Say)

    def result(self) -> JobForecast:
        return JobForecast(
            job=self.job,
            past=self.past,
            runs=self.runs,
            skipped=self.skipped,
            missed=self.missed,
            days_off=self.days_off,
            collisions=self.collisions,
            depends=self.depends,
        )


@positional
class _Turn:
    """A run in the lane: when it is expected to start and to end."""

    line: _Line
    start: datetime
    end: datetime


class _Lane:
    """The runs that are expected in the session, one at a time."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []

    def at(self, now: datetime) -> Sequence[_Turn]:
        self._turns = [turn for turn in self._turns if turn.end > now]
        return self._turns

    def add(self, line: _Line, now: datetime) -> _Turn:
        start = max([now, *(turn.end for turn in self._turns)])
        turn = _Turn(line, start, start + timedelta(milliseconds=line.past.length_ms))
        self._turns.append(turn)
        return turn


class _Play:
    def __init__(
        self,
        lines: Sequence[_Line],
        now: datetime,
        until: datetime,
        last_message_at: datetime | None,
        budgets: PlayedBudgets,
    ) -> None:
        self._lines, self._now, self._until = lines, now, until
        self._last_message_at = last_message_at
        self._budgets = budgets
        self._lane = _Lane()
        self._slots: list[ForecastSlot] = []
        self._looks: list[tuple[datetime, datetime, int]] = []
        """When the timer looks at a job, when it should have, and which job it is."""
        for line in lines:
            self._look_again(line)

    def run(self) -> list[ForecastSlot] | None:
        """The slots that pass until the end; None if there are too many looks."""
        looks = 0
        while self._looks:
            now = self._now = self._looks[0][0]
            due = []
            while self._looks and self._looks[0][0] == now:
                due.append(self._lines[heappop(self._looks)[2]])
            looks += len(due)
            if looks > _MOST_LOOKS:
                return None
            # A timer decides about all jobs that are due by the state before it takes any of them.
            facts = [(line, self._facts(line, now)) for line in due]
            for line, slot in facts:
                self._apply(line, slot, _decide(line, slot, now), now)
        return self._slots

    def _facts(self, line: _Line, now: datetime) -> DueSlot:
        job, turns = line.job, self._lane.at(now)
        slot = line.slot or line.snoozed_to
        assert slot is not None  # it is looked at for one of them
        own = [turn for turn in turns if turn.line is line]
        put_off = line.look_at is not None and line.look_at > jittered(slot, job.policy, job.id)
        return DueSlot(
            trigger=job.trigger,
            policy=job.policy,
            slot=slot,
            put_off_until=line.look_at if put_off else None,
            put_off_because=line.put_off if put_off else None,
            runs_so_far=line.run_count,
            queued_runs=sum(turn.start > now for turn in own),
            running=any(turn.start <= now for turn in own),
            lane_busy=bool(turns),
            last_message_at=self._last_message_at,
            quiet=line.quiet,
        )

    def _apply(self, line: _Line, due: DueSlot, decision: Decision, now: datetime) -> None:
        match decision:
            case Postpone():
                line.look_at, line.put_off = _earliest(decision.until, line.snoozed_to), decision.reason
                self._look_again(line)
            case PassOver():
                self._pass_over(line, decision)
            case Fire():
                refused = self._budgets.refuse(line.job, line.past, now)
                if refused is None:
                    self._fire(line, decision, now)
                else:
                    budget, reason = refused
                    self._pass_over(line, skipped_instead(decision, due, now, reason))
                    if budget.over is Over.PAUSE:
                        self._pause(line)

    def _pass_over(self, line: _Line, decision: PassOver) -> None:
        self._count_passed(line, decision.slot, decision.outcome, decision.reason, decision.count)
        self._go_on(line, decision)

    def _count_passed(
        self, line: _Line, first: datetime, outcome: Outcome, reason: str | None, count: int
    ) -> None:
        missed = outcome is Outcome.MISSED
        line.missed += count if missed else 0
        line.skipped += 0 if missed else count
        verdict = ForecastVerdict.MISSED if missed else ForecastVerdict.SKIPPED
        self._add(line, first, verdict, reason, count=count)

    def _fire(self, line: _Line, decision: Fire, now: datetime) -> None:
        if passed := decision.missed:
            self._count_passed(line, passed.first, passed.outcome, passed.reason, passed.count)
        line.runs += 1
        line.run_count += 0 if decision.extra else 1
        if line.depends is not None:
            self._add(line, decision.slot, ForecastVerdict.DEPENDS, line.depends)
        else:
            reason, other = self._collision(line, now) if line.in_lane else (None, None)
            self._add(line, decision.slot, ForecastVerdict.RUN, reason or decision.reason, other=other)
        self._go_on(line, decision)

    def _collision(self, line: _Line, now: datetime) -> tuple[str | None, str | None]:
        ahead = tuple(self._lane.at(now))
        turn = self._lane.add(line, now)
        if not ahead:
            return None, None
        line.collisions += 1
        other = ahead[-1].line.job
        waits = spoken(turn.start - now, units=2)
        return f"expected to wait {waits} behind {other.name!r}, {_MEDIAN}", other.id

    def _pause(self, line: _Line) -> None:
        line.depends = "it is expected to be paused by its budget"
        self._looks = [look for look in self._looks if self._lines[look[2]] is not line]
        heapify(self._looks)

    def _add(
        self,
        line: _Line,
        slot: datetime,
        verdict: ForecastVerdict,
        reason: str | None,
        *,
        count: int = 1,
        other: str | None = None,
    ) -> None:
        note = clock_note(line.job, slot) if _clocks_change(line.job.trigger, slot) else None
        note = note or day_note(line.job, slot)
        self._slots.append(
            ForecastSlot(
                job_id=line.job.id,
                slot=slot,
                verdict=verdict,
                reason=reason,
                note=note,
                count=count,
                collides_with=other,
            )
        )

    def _go_on(self, line: _Line, decision: Fire | PassOver) -> None:
        line.slot, line.put_off = decision.next, None
        line.snoozed_to = None if decision.ends_snooze else line.snoozed_to
        look_at = decision.next and jittered(decision.next, line.job.policy, line.job.id)
        line.look_at = _earliest(look_at, line.snoozed_to)
        self._look_again(line)

    def _look_again(self, line: _Line) -> None:
        if line.look_at is not None and line.look_at <= self._until:
            look = (max(line.look_at, self._now), line.look_at, self._lines.index(line))
            heappush(self._looks, look)


def _decide(line: _Line, slot: DueSlot, now: datetime) -> Decision:
    if line.snoozed_to is not None and line.snoozed_to <= now:
        return fire_snoozed(line.job.trigger, line.snoozed_to, line.slot)
    return decide(slot, now)


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min(filter(None, (one, other)), default=None)


def _clocks_change(trigger: Trigger, slot: datetime) -> bool:
    """Whether the clocks of its zone change within a day. On all other days there is nothing to note."""
    if not isinstance(trigger, Cron | RRule) or trigger.tz is None:
        return False
    zone = ZoneInfo(trigger.tz)
    return (slot - _DAY).astimezone(zone).utcoffset() != (slot + _DAY).astimezone(zone).utcoffset()


def slots_until(job: Job, until: datetime) -> int:
    """How many slots a job has until a moment, without visiting them."""
    if job.slot is None:
        return 0
    first, end = to_moment(job.slot), min(until, job.policy.until or until)
    if first > end:
        return 0
    count = 1 if isinstance(job.trigger, Idle) else 1 + _count(job.trigger, first, end)
    if job.policy.max_runs is not None:
        count = min(count, max(0, job.policy.max_runs - job.run_count))
    return count


def _count(trigger: Trigger, after: datetime, until: datetime) -> int:
    if isinstance(trigger, Every):  # a relative one has one slot at a time
        return (until - after) // trigger.interval
    return trigger.count_between(after, until)


def _days_off(line: _Line, now: datetime, until: datetime, *, listed: bool) -> Iterator[ForecastSlot]:
    """The moments of a cron line that its day set leaves out."""
    trigger = line.job.trigger
    if not isinstance(trigger, Cron) or not trigger.days or trigger.shift is not Shift.NONE:
        return
    until = min(until, line.job.policy.until or until)
    plain = replace(trigger, days=None, own_days=None)
    start = now - _JUST
    line.days_off = plain.count_between(start, until) - trigger.count_between(start, until)
    if not listed or line.days_off > MOST_SLOTS:
        return
    slot = plain.next_after(start)
    while slot is not None and slot <= until:
        if trigger.next_after(slot - _JUST) != slot:
            reason = trigger.note(slot) or f"it is no working day in {trigger.days}"
            yield ForecastSlot(job_id=line.job.id, slot=slot, verdict=ForecastVerdict.DAY_OFF, reason=reason)
        slot = plain.next_after(slot)


def _sum(spreads: Iterator[Spread | None]) -> Spread | None:
    total: Spread | None = None
    for each in spreads:
        total = each.plus(total) if each is not None else total
    return total
