"""Explains in sentences why a slot ran, waited, was skipped or missed, and which slots come next.

Pure functions: `kernel.jobs.explain` reads the facts; the route, the command and the page show the sentences.
A slot is explained by its run. A slot without a run lies in the future, or the job did not have it, or its
record was pruned; the sentences tell these apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from segue.model.conditions.check import CONDITION
from segue.model.decision import BUSY, PUT_OFF, QuietRule
from segue.model.quiet.hours import QUIET_UNTIL
from segue.model.records import Job, Run, Session, Turn
from segue.model.schedule import upcoming, zone_of
from segue.model.states import JobState, Outcome
from segue.record import positional, record
from segue.times.clock import to_moment, to_ms
from segue.times.format import spoken
from segue.times.trigger import Cron, Idle, RRule

NEXT = 5
"""How many coming slots are listed."""

_MINUTE = timedelta(minutes=1)
_MOST_BLOCKERS = 3


class Verdict(StrEnum):
    """The state of a slot that has no outcome, or of the job. A run that ended has its outcome instead."""

    RUNNING = "running"
    QUEUED = "queued"
    """It waits in the lane of its session."""
    DUE = "due"
    """Its moment has come, and no worker has looked at it yet."""
    POSTPONED = "postponed"
    """A worker looked at it and put it off."""
    SCHEDULED = "scheduled"
    """Its moment lies in the future."""
    PAUSED = "paused"
    ENDED = "ended"
    UNKNOWN = "unknown"
    """Nothing is recorded: the job had no such slot, or its record was pruned."""


@record
class ExplainFacts:
    """The stored facts about a job and one of its slots."""

    job: Job
    session: Session
    now: datetime
    zone: str
    """The zone of the times in the sentences, if the schedule has none of its own."""
    run: Run | None = None
    """The run of the slot in question, or the newest; None: there is none."""
    asked: datetime | None = None
    """The slot in question; None: explain the state of the job."""
    turn: Turn | None = None
    """The turn of the run."""
    running: Turn | None = None
    """The turn that runs in the session now."""
    queued: Sequence[Turn] = ()
    """The turns that wait in the session, in their order."""
    question: str | None = None
    """The question that the session waits for its user to answer."""
    waiting_until: int | None = None
    """How long it waits for that, at most."""
    held_up_by: Sequence[Turn] = ()
    """The turns that ran in the session while the run waited."""
    days_changed_at: int | None = None
    """When the account last changed the day set that the job uses."""
    at_work: int = 0
    """How many turns run now in all sessions."""
    runners: int = 0
    """How many scheduled turns a process runs at once."""
    quiet: QuietRule | None = None
    """Set for a job that keeps quiet in the quiet hours of its session."""
    held_until: int | None = None
    """How long the answer of the run waits to be sent."""
    message_seq: int | None = None
    """The number of the message for which a condition kept the slot from running."""


@positional
class UpcomingSlot:
    at: datetime
    note: str | None = None
    """How a change of the clocks or quiet hours affect it, or that its day set does not reach so far."""


@record
class Explanation:
    verdict: str
    """A `Verdict`, or the `Outcome` of a run that ended."""
    sentences: tuple[str, ...]
    slot: datetime | None
    run_id: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The facts that decided it, for programs."""
    next: tuple[UpcomingSlot, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.sentences)


@positional
class _Part:
    """One part of an explanation: a verdict, its sentences, and the facts behind it."""

    verdict: str
    sentences: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


def explain(facts: ExplainFacts) -> Explanation:
    """Returns the explanation that follows from the facts."""
    tell = _Clock(facts)
    slot = facts.asked or (to_moment(facts.run.slot) if facts.run else None)
    of_job = _state_of_job(facts, tell)
    if facts.run is not None:
        part = _of_run(facts, facts.run, tell)
    elif facts.asked is not None:
        part = _without_run(facts, facts.asked, tell)
    else:
        part = of_job
    of_slot = facts.run is not None or facts.asked is not None
    coming = tuple(UpcomingSlot(at, _note(facts, at)) for at in upcoming(facts.job, NEXT))
    sentences = [*part.sentences, *(of_job.sentences if of_slot else ())]
    sentences += [*_last_reply(facts.job, tell), *_days(facts, tell), *_next(coming, tell)]
    return Explanation(
        # A question about a slot gets the verdict of the slot, any other that of the job.
        verdict=part.verdict if facts.asked is not None or _open(facts.run) else of_job.verdict,
        sentences=tuple(sentences),
        slot=slot,
        run_id=facts.run.id if facts.run else None,
        facts={**of_job.facts, **part.facts},
        next=coming,
    )


def stands_for(run: Run, job: Job, slot: datetime) -> bool:
    """Whether a run records that slot: the row of a skipped or missed run may stand for many slots."""
    first = to_moment(run.slot)
    if first == slot:
        return True
    return run.outcome in (Outcome.SKIPPED, Outcome.MISSED) and (
        0 < job.trigger.count_between(first, slot) < _moments(run)
    )


def _moments(run: Run) -> int:
    """How many slots a skipped or missed run stands for, its own among them."""
    return run.missed_count if run.outcome is Outcome.MISSED else run.missed_count + 1


def _note(facts: ExplainFacts, slot: datetime) -> str | None:
    return clock_note(facts.job, slot) or day_note(facts.job, slot) or _quiet_note(facts.quiet, slot)


def _quiet_note(rule: QuietRule | None, slot: datetime) -> str | None:
    window = rule.window_at(slot) if rule else None
    if rule is None or window is None:
        return None
    return f"{window.reason}; it is skipped" if rule.skips else f"{window.reason}; it runs when they end"


def day_note(job: Job, slot: datetime) -> str | None:
    """What the day set of a cron schedule says about a day; None if there is nothing to say."""
    return job.trigger.note(slot) if isinstance(job.trigger, Cron) else None


def clock_note(job: Job, slot: datetime) -> str | None:
    """How a change of the clocks affects a slot of a cron line or a rule; None on all other days."""
    if not isinstance(job.trigger, Cron | RRule) or job.trigger.tz is None:
        return None
    if job.trigger.next_after(slot - timedelta(milliseconds=1)) != slot:
        return None  # a slot of the job's earlier schedule
    line, zone = job.trigger.walls, ZoneInfo(job.trigger.tz)
    here = slot.astimezone(zone)
    read = here.replace(tzinfo=None, fold=0)
    if line.first(read, read + _MINUTE) is None:
        meant = line.last(read - timedelta(days=1), read)
        missing = f"{meant:%H:%M}" if meant else "its time"
        return f"the clocks in {zone.key} jump over {missing} that day, so it runs at {read:%H:%M}"
    if here.replace(fold=0).utcoffset() == here.replace(fold=1).utcoffset():
        return None
    if line.follows_clock:
        return f"the clocks in {zone.key} show {read:%H:%M} twice that day, and it runs both times"
    return f"the clocks in {zone.key} show {read:%H:%M} twice that day; it runs the first time"


class _Clock:
    """Writes moments and lengths of time."""

    def __init__(self, facts: ExplainFacts) -> None:
        self._zone = ZoneInfo(zone_of(facts.job.trigger, facts.zone))
        self._now = facts.now

    def at(self, moment: datetime | int) -> str:
        moment = to_moment(moment) if isinstance(moment, int) else moment
        here = moment.astimezone(self._zone)
        seconds = ":%S" if here.second else ""
        return f"{here:%a %d %b %Y, %H:%M{seconds}} ({self._zone.key})"

    def since(self, ms: int) -> str:
        return spoken(max(timedelta(0), self._now - to_moment(ms)), units=2)

    @staticmethod
    def length(ms: int) -> str:
        return spoken(timedelta(milliseconds=max(0, ms)), units=2)


def _days(facts: ExplainFacts, tell: _Clock) -> Iterator[str]:
    if facts.days_changed_at is not None and isinstance(facts.job.trigger, Cron):
        yield f"Its day set {facts.job.trigger.days} was last changed on {tell.at(facts.days_changed_at)}."


_DONE_BY_REPLY = {
    "stop": "it was paused",
    "go_on": "it was resumed",
    "skip": "its next run was skipped",
    "snooze": "one extra run was scheduled, beside its schedule",
    "make": "its schedule was changed",
    "done": "it was marked as done",
}


def _last_reply(job: Job, tell: _Clock) -> Iterator[str]:
    reply = job.replied
    if reply is None:
        return
    done = _DONE_BY_REPLY.get(reply.action, "it was changed")
    yield f"On {tell.at(reply.at)} a user answered ‘{reply.words}’, and {done}."
    if reply.snoozed_to is not None:
        yield f"It is snoozed: the extra run is on {tell.at(reply.snoozed_to)}."


def _open(run: Run | None) -> bool:
    return run is not None and run.outcome is None


# A slot with a run


def _of_run(facts: ExplainFacts, run: Run, tell: _Clock) -> _Part:
    first = [f"{facts.job.name!r} was due on {tell.at(run.slot)}."]
    if note := clock_note(facts.job, to_moment(run.slot)):
        first.append(f"{note[0].upper()}{note[1:]}.")
    if run.missed_count and run.outcome is not Outcome.MISSED:
        first.append(f"It also stands for {run.missed_count} earlier moments that did not run.")
    if run.outcome is None:
        part = _running(facts, run, tell) if run.state == "running" else _waiting(facts, run, tell)
    elif run.outcome in (Outcome.SKIPPED, Outcome.MISSED):
        part = _passed(facts, run, tell)
    else:
        part = _ended(facts, run, tell)
    known = {"slot": run.slot, "run_id": run.id, "lateness_ms": run.lateness_ms}
    return _Part(part.verdict, (*first, *part.sentences), {**known, **part.facts})


def _running(facts: ExplainFacts, run: Run, tell: _Clock) -> _Part:
    assert run.started_at is not None
    attempt = f", in attempt {run.attempt}" if run.attempt > 1 else ""
    return _Part(
        Verdict.RUNNING,
        (f"It is running for {tell.since(run.started_at)} now{attempt}.", *_waited(facts, run, tell)),
        {"turn_id": run.turn_id, "attempt": run.attempt},
    )


def _waiting(facts: ExplainFacts, run: Run, tell: _Clock) -> _Part:
    waits = f"It waits for {tell.since(run.queued_at)} now"
    turn, busy = facts.turn, facts.running
    if until := facts.waiting_until:
        why = f"the agent asked the user {facts.question!r}, and waits for the answer until {tell.at(until)}"
        return _Part(Verdict.QUEUED, (f"{waits}: {why}.",), {"waiting_until": until})
    if turn is not None and to_moment(turn.not_before) > facts.now:
        why = f"an attempt failed, and the next is on {tell.at(turn.not_before)}"
        return _Part(Verdict.QUEUED, (f"{waits}: {why}.",), {"retry_at": turn.not_before})
    if busy is not None and busy.started_at is not None:
        ahead = _ahead(facts, run)
        behind = f", and {ahead} more before it" if ahead else ""
        known = {"busy_with": busy.id, "busy_since": busy.started_at, "ahead": ahead}
        why = f"its session is busy with {_turn_name(busy)} for {tell.since(busy.started_at)}{behind}"
        return _Part(Verdict.QUEUED, (f"{waits}: {why}.",), known)
    why = (
        f"its session is free, but no worker has taken it up. {facts.at_work} turns are running, and a "
        f"process runs at most {facts.runners} scheduled ones at once"
    )
    return _Part(Verdict.QUEUED, (f"{waits}: {why}.",), {"at_work": facts.at_work, "runners": facts.runners})


def _ahead(facts: ExplainFacts, run: Run) -> int:
    ids = [turn.id for turn in facts.queued]
    return ids.index(run.turn_id) if run.turn_id in ids else 0


def _passed(facts: ExplainFacts, run: Run, tell: _Clock) -> _Part:
    count = _moments(run)
    slots = f" It stands for {count} moments." if count > 1 else ""
    verb = "was skipped" if run.outcome is Outcome.SKIPPED else "was missed"
    decided = f"It {verb} on {tell.at(run.queued_at)}: {run.reason or 'no reason is recorded'}.{slots}"
    known: dict[str, Any] = {"reason": run.reason, "moments": count}
    if run.reason and run.reason.startswith(CONDITION):
        known |= {"condition": run.reason, "message_seq": facts.message_seq}
    if run.reason and run.reason.startswith(QUIET_UNTIL):
        known["quiet"] = run.reason
    return _Part(str(run.outcome), (decided,), known)


def _ended(facts: ExplainFacts, run: Run, tell: _Clock) -> _Part:
    known: dict[str, Any] = {"turn_id": run.turn_id, "attempt": run.attempt}
    known |= {"reason": run.reason, "error": run.error}
    sentences = [*_waited(facts, run, tell)]
    tries = f" in attempt {run.attempt}" if run.attempt > 1 else ""
    because = f": {run.reason}" if run.reason and not run.reason.startswith(PUT_OFF) else ""
    if run.finished_at is not None:
        sentences.append(f"It ended as {run.outcome}{tries} on {tell.at(run.finished_at)}{because}.")
    if facts.held_until is not None:
        sentences.append(f"Its answer is in the conversation, and is sent on {tell.at(facts.held_until)}.")
        known["held_until"] = facts.held_until
    if run.error:
        sentences.append(f"The error was: {run.error.strip().splitlines()[-1]}")
    waited = None if run.started_at is None else run.started_at - run.queued_at
    return _Part(str(run.outcome), tuple(sentences), {**known, "waited_ms": waited})


def _waited(facts: ExplainFacts, run: Run, tell: _Clock) -> Iterator[str]:
    if run.started_at is None:
        return
    late, waited = run.lateness_ms, run.started_at - run.queued_at
    if late >= 1000 and run.reason and run.reason.startswith(PUT_OFF):
        why = run.reason.removeprefix(PUT_OFF)
        yield f"Its moment was taken up {tell.length(late)} late, because it was put off ({why})."
    elif late >= 1000:
        yield f"Its moment was taken up {tell.length(late)} late."
    if waited >= 1000 and facts.held_up_by:
        turns = ", ".join(_turn_name(turn) for turn in facts.held_up_by[:_MOST_BLOCKERS])
        yield f"It then waited {tell.length(waited)}, while its session was busy with {turns}."
    elif waited >= 1000:
        yield f"It then waited {tell.length(waited)} for a free runner."


def _turn_name(turn: Turn) -> str:
    name = "a user's turn" if turn.source is None else f"the job {turn.source.label!r}"
    if turn.started_at is None or turn.finished_at is None:
        return f"{name} ({turn.id})"
    return f"{name} ({turn.id}, {_Clock.length(turn.finished_at - turn.started_at)})"


# A slot without a run


def _without_run(facts: ExplainFacts, asked: datetime, tell: _Clock) -> _Part:
    job = facts.job
    when = tell.at(asked)
    if to_ms(asked) < job.created_at:
        sentence = f"On {when} the job was not there yet: it was made later."
        return _Part(Verdict.UNKNOWN, _with_day(sentence, job, asked))
    if not isinstance(job.trigger, Idle) and not job.trigger.count_between(asked - _JUST, asked):
        sentence = f"{when} is no moment of this job, which runs {job.trigger}."
        return _Part(Verdict.UNKNOWN, _with_day(sentence, job, asked))
    if asked > facts.now:
        return _Part(Verdict.SCHEDULED, (f"{when} has not come yet.",))
    if job.state is JobState.PAUSED and job.updated_at <= to_ms(asked):
        return _Part(Verdict.PAUSED, (f"On {when} the job was paused, and it is paused still.",))
    if job.slot is not None and to_moment(job.slot) <= asked:
        return _Part(Verdict.DUE, (f"The moment of {when} has not been taken up yet.",))
    reason = "the job was paused then, or had another schedule, or the record has been forgotten since"
    return _Part(Verdict.UNKNOWN, (f"Nothing is recorded for {when}: {reason}.",))


_JUST = timedelta(milliseconds=1)


def _with_day(sentence: str, job: Job, asked: datetime) -> tuple[str, ...]:
    note = day_note(job, asked)
    return (sentence, f"{note}.") if note else (sentence,)


# The state of the job


def _state_of_job(facts: ExplainFacts, tell: _Clock) -> _Part:
    job = facts.job
    because = f": {job.state_reason}" if job.state_reason else ""
    if job.state is JobState.PAUSED:
        known = {"paused_at": job.updated_at, "reason": job.state_reason, "failures": job.failures}
        again = "" if job.policy.unreadable else " Resume it, and it runs again."
        sentence = f"The job is paused since {tell.at(job.updated_at)}{because}.{again}"
        return _Part(Verdict.PAUSED, (sentence,), known)
    if job.state is not JobState.ACTIVE:
        sentence = f"The job is over since {tell.at(job.updated_at)}{because}."
        return _Part(Verdict.ENDED, (sentence,), {"reason": job.state_reason})
    if job.policy.unreadable:
        sentence = f"It will be paused when its moment comes: {job.policy.unreadable}."
        return _Part(Verdict.SCHEDULED, (sentence,), {"reason": job.policy.unreadable})
    if job.slot is None or job.next_at is None:
        return _Part(Verdict.SCHEDULED, ("It waits for a message, from which the silence is counted.",))
    return _next_slot(job, facts.now, tell, job.slot, job.next_at)


def _next_slot(job: Job, now: datetime, tell: _Clock, slot: int, next_at: int) -> _Part:
    known = {"next_slot": slot, "next_look": next_at}
    if to_moment(next_at) <= now:
        sentence = (
            f"It is due since {tell.at(next_at)}, and no worker has looked yet: is `segue serve` or "
            "`segue worker` running?"
        )
        return _Part(Verdict.DUE, (sentence,), known)
    if to_moment(slot) <= now and (job.state_reason or not job.policy.jitter_seconds):
        why = job.state_reason or BUSY
        sentence = (
            f"It was due on {tell.at(slot)} and was put off ({why}): it looks again on {tell.at(next_at)}."
        )
        return _Part(Verdict.POSTPONED, (sentence,), {**known, "reason": why})
    return _Part(Verdict.SCHEDULED, (), known)


def _next(coming: Sequence[UpcomingSlot], tell: _Clock) -> Iterator[str]:
    if coming:
        yield "It runs next on:"
    for moment in coming:
        yield f"- {tell.at(moment.at)}" + (f": {moment.note}" if moment.note else "")
