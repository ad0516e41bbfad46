"""Acts: what a control does to a job. A pure function of the control, the job and the time.

    decide_act(control, job, facts)  ->  Act    the line that the session shows, and the change to store
                                         None   the words are left to the agent

`go on` to a job that is not paused is left to the agent: the user may want to hear more.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from segue.errors import BadTime, BadTrigger
from segue.model.decision import PassOver
from segue.model.records import Job
from segue.model.replies.controls import Control
from segue.model.replies.last_reply import LastReply, awake
from segue.model.replies.new_times import at_time, undo_of
from segue.model.replies.word_tables import Action
from segue.model.schedule import (
    check_rhythm,
    local,
    read_trigger,
    skipped_slot,
    upcoming,
    with_first_slot,
    with_slot,
    zone_of,
)
from segue.model.states import JobKind, JobState
from segue.record import record
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Trigger, resolve

OVER = "That job is over."
RANGE = "A snooze takes from 1 minute to 30 days, such as ‘snooze 30m’."


@record
class ReplyFacts:
    """What a decision needs to know beside the job."""

    words: str
    """The user's text."""
    now: int
    earliest: int
    """Now, or the slot that was skipped ahead of its time: the next run is not before it."""
    zone: str | None
    """The zone of the session, or that of the settings."""
    least: timedelta
    """How far apart two runs of a user's job must be."""
    why: str = ""
    """The explanation of the job, for `why?`."""


@record
class Act:
    """What is done and said. Without `job` and `skipped` nothing is changed."""

    line: str
    job: Job | None = None
    """The changed job, to be stored."""
    skipped: PassOver | None = None
    undo: str | None = None
    """The reply that undoes it, if one does."""
    stops_turn: bool = False
    """The running turn of the job is stopped too."""


def takes_controls(job: Job) -> bool:
    """Whether replies to its messages may act: recalls and written messages are left to the agent."""
    return job.kind in (JobKind.CRON, JobKind.LEGACY) or job.protected


def decide_act(control: Control, job: Job, facts: ReplyFacts) -> Act | None:
    """Returns what the control does to the job; None: the words are no order to it."""
    if control.action in (Action.YES, Action.UNDO):  # they answer the question of a budget only
        return None
    if job.state is JobState.REMOVED:
        return Act(line=OVER)
    if control.action is Action.WHY:
        return Act(line=facts.why)
    if job.protected:
        return Act(line=f"‘{job.name}’ belongs to the system, so a reply cannot change it.")
    match control.action:
        case Action.SNOOZE:
            return _snooze(control, job, facts)
        case Action.DONE:
            return _done(job, facts)
    if job.state is JobState.ENDED:
        return Act(line=OVER)
    match control.action:
        case Action.STOP:
            return _stop(job, facts)
        case Action.GO_ON:
            return _go_on(job, facts)
        case Action.SKIP:
            return _skip(job, facts)
        case _:
            return _make(control, job, facts)


def _replied(action: Action, job: Job, facts: ReplyFacts) -> Job:
    """The job with this reply as its last one. What is not changed by it stays."""
    before = job.replied or LastReply(action=action, words="", at=0)
    return replace(job, replied=replace(before, action=str(action), words=facts.words, at=facts.now))


def _stop(job: Job, facts: ReplyFacts) -> Act:
    if job.state is not JobState.ACTIVE:
        return Act(line=f"Already paused: {job.name}. Say ‘go on’ to resume.", stops_turn=True)
    reason = f"stopped by the reply ‘{facts.words}’"
    paused = replace(
        _replied(Action.STOP, job, facts),
        state=JobState.PAUSED,
        state_reason=reason,
        slot=None,
        next_at=None,
    )
    line = f"Paused: {job.name}. Say ‘go on’ to resume."
    return Act(line=line, job=paused, undo="go on", stops_turn=True)


def _go_on(job: Job, facts: ReplyFacts) -> Act | None:
    if job.state is not JobState.PAUSED:
        return None
    active = replace(_replied(Action.GO_ON, job, facts), state=JobState.ACTIVE, state_reason=None, failures=0)
    active = replace(active, replied=awake(active.replied))
    try:
        if isinstance(job.trigger, At):  # its moment may have passed: the policy decides how late is too late
            active = with_slot(active, job.trigger.moment)
        else:
            active = with_first_slot(active, facts.earliest)
    except BadTrigger as error:
        return Act(line=f"{job.name} stays paused: {error}.")
    return Act(line=f"Resumed: {job.name}.{next_run(active, facts)}", job=active, undo="stop")


def _skip(job: Job, facts: ReplyFacts) -> Act:
    if job.state is not JobState.ACTIVE or job.slot is None:
        return Act(line=f"{job.name} has no next run to skip.{_paused(job)}")
    skipped = skipped_slot(job, job.slot, facts.now, reason=f"skipped by the reply ‘{facts.words}’")
    after = replace(job, slot=None if skipped.next is None else to_ms(skipped.next))
    when = _when(to_moment(job.slot), job, facts)
    line = f"Skipped: {job.name}, {when}.{next_run(after, facts)}"
    return Act(line=line, job=_replied(Action.SKIP, job, facts), skipped=skipped)


def _snooze(control: Control, job: Job, facts: ReplyFacts) -> Act:
    if control.wait is None:
        return Act(line=RANGE)
    if job.state is JobState.PAUSED:
        return Act(line=f"{job.name} is paused. Say ‘go on’ first.")
    snoozed_to = facts.now + round(control.wait / timedelta(milliseconds=1))
    snoozed = _replied(Action.SNOOZE, job, facts)
    assert snoozed.replied is not None
    snoozed = replace(snoozed, replied=replace(snoozed.replied, snoozed_to=snoozed_to))
    if job.state is JobState.ENDED:
        snoozed = replace(snoozed, state=JobState.ACTIVE, state_reason=None)
    when = _when(to_moment(snoozed_to), job, facts)
    return Act(line=f"Snoozed: {job.name} runs once more {when}.", job=snoozed)


def _done(job: Job, facts: ReplyFacts) -> Act:
    done = _replied(Action.DONE, job, facts)
    assert done.replied is not None
    done = replace(done, replied=replace(done.replied, snoozed_to=None, done_at=facts.now))
    if job.state is JobState.ACTIVE and job.slot is None and job.snoozed_to is not None:
        # It was over, and active only for its snooze.
        done = replace(done, state=JobState.ENDED, state_reason="done", next_at=None)
    elif job.slot is not None and job.snoozed_to is not None and job.next_at == job.snoozed_to:
        done = with_slot(done, to_moment(job.slot))
    return Act(line=f"Done: {job.name}.", job=done)


def _make(control: Control, job: Job, facts: ReplyFacts) -> Act:
    try:
        trigger = _new_trigger(control, job, facts)
        check_rhythm(trigger, facts.least, to_moment(facts.now))
        changed = replace(_replied(Action.MAKE, job, facts), trigger=trigger)
        if job.state is JobState.ACTIVE:
            changed = with_first_slot(changed, facts.now if isinstance(trigger, At) else facts.earliest)
    except (BadTime, BadTrigger) as error:
        sentence = str(error)
        return Act(line=f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.")
    paused = _paused(job) if job.state is JobState.PAUSED else next_run(changed, facts)
    return Act(
        line=f"Changed: {job.name} runs {changed.trigger}.{paused}",
        job=changed,
        undo=undo_of(control, job.trigger),
    )


def _new_trigger(control: Control, job: Job, facts: ReplyFacts) -> Trigger:
    zone, now = zone_of(job.trigger, facts.zone), to_moment(facts.now)
    if control.schedule is not None:
        return resolve(read_trigger(control.schedule, now=now, zone=zone), now=now, zone=zone)
    return at_time(control, job.trigger, zone, now)


def _paused(job: Job) -> str:
    return " It is paused. Say ‘go on’ to resume." if job.state is JobState.PAUSED else ""


def next_run(job: Job, facts: ReplyFacts) -> str:
    """The sentence that says when the job runs next, if it does."""
    coming = upcoming(job, 1)
    return f" It runs next {_when(coming[0], job, facts)}." if coming else ""


def _when(moment: datetime, job: Job, facts: ReplyFacts) -> str:
    zone = zone_of(job.trigger, facts.zone)
    here, today = local(moment, zone), local(to_moment(facts.now), zone).date()
    clock = f"{here:%H:%M}"
    if here.date() == today:
        return f"today at {clock}"
    if here.date() == today + timedelta(days=1):
        return f"tomorrow at {clock}"
    return f"on {here:%a %d %b} at {clock}"
