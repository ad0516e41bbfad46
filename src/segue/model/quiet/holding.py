"""Holding answers: what quiet hours mean for a job, and how long an answer of it waits. Pure functions."""

from datetime import datetime, timedelta

from segue.model.action import Ask
from segue.model.prompts import Mode
from segue.model.quiet.choices import Quiet, Tell
from segue.model.quiet.digest import Digest
from segue.model.quiet.hours import QuietHours, QuietWindow
from segue.model.records import Job
from segue.model.states import JobKind, Outcome
from segue.record import positional, record
from segue.times.trigger import At

LONGEST_WAIT = timedelta(hours=24)


def choice_of(job: Job) -> Quiet:
    """What a job does in quiet hours: what its policy says, or what is usual for such a job.

    A written message is sent at its time. A job without a model call, and one for a moment that its user
    named, run through; a check has nothing to catch up with, and is skipped.
    """
    if job.kind is JobKind.MESSAGE:
        return Quiet.THROUGH
    if job.policy.quiet is not None:
        return job.policy.quiet
    if not isinstance(job.action, Ask) or (isinstance(job.trigger, At) and job.kind is not JobKind.RECALL):
        return Quiet.THROUGH
    return Quiet.SKIP if job.action.mode is Mode.CHECK else Quiet.DEFER


@record
class SpeakingHours:
    """When a session may be spoken to: its quiet hours and its digest, in its zone."""

    quiet: QuietHours | None
    digest: Digest | None
    zone: str

    def window_at(self, moment: datetime) -> QuietWindow | None:
        return self.quiet.window_at(moment, self.zone) if self.quiet else None

    def holds_at(self, moment: datetime) -> bool:
        """Whether answers may have to wait then."""
        return self.digest is not None or self.window_at(moment) is not None


@positional
class Wait:
    """An answer joins a message that is sent between these moments, or opens one for the last of them."""

    earliest: datetime
    latest: datetime


def wait_of(job: Job, outcome: Outcome, hours: SpeakingHours, now: datetime) -> Wait | None:
    """How long an answer waits before it is sent. None: it is sent now, as failures and questions are."""
    if outcome not in (Outcome.OK, Outcome.EMPTY) or choice_of(job) is Quiet.THROUGH:
        return None
    window = hours.window_at(now)
    free = window.end if window else now
    if hours.digest is None or job.policy.tell is Tell.NOW:
        return Wait(free, free) if window else None
    due = max(free, hours.digest.due(now, hours.zone))
    if later := hours.window_at(due):
        due = later.end
    due = min(due, now + LONGEST_WAIT)
    return Wait(due if hours.digest.at else min(free, due), due)
