"""Scheduled messages: a text written now, sent then, with no model call in between.

Such a message is a job of its own kind that says one text once. This is what it has beside every other job:
it is for chats with one person, it may take the place of those that wait, and it can be taken back until it
is being sent. Transactions, as in `lane`.

Invariants
  - of a cancel and a send, one wins: what was cancelled is never sent, what is being sent is not cancelled
  - a message that was refused has cancelled nothing: what it replaces goes in the transaction that keeps it
"""

from collections.abc import Sequence
from dataclasses import replace

from segue.errors import AlreadyStarted
from segue.kernel.transactions import jobs, session_log
from segue.kernel.transactions.jobs import JobChanged
from segue.model.policy import Policy
from segue.model.records import Event, Job, Owner
from segue.model.states import JobState
from segue.record import record
from segue.store import queries
from segue.store.database import Transaction

_TEN_YEARS = 10 * 365 * 86_400


@record
class ScheduledMessageFields:
    """What a scheduled message has beside its job."""

    chat_type: str
    replace_existing: bool = False
    tool_call_id: str | None = None
    """The model's call that asked for it; None for people."""


@record
class ScheduledMessageCreated:
    """A message that will be sent, and those that will not be in its place."""

    changed: JobChanged
    cancelled: Sequence[str] = ()


POLICY = Policy(grace_seconds=_TEN_YEARS)
"""However late somebody is there to send it, it is sent: it was promised."""


def create(
    owner: Owner, key: str, job: Job, facts: ScheduledMessageFields, *, new_session_id: str
) -> Transaction[ScheduledMessageCreated]:
    changed = yield from jobs.create(owner, key, job, new_session_id=new_session_id)
    session = yield from session_log.lock_session(changed.job.session_id)
    yield (
        queries.scheduled_messages.create,
        {
            "job_id": job.id,
            "chat_type": facts.chat_type,
            "replace_existing": int(facts.replace_existing),
            "created_by_tool_call_id": facts.tool_call_id,
        },
    )
    if facts.replace_existing:
        waiting = yield queries.scheduled_messages.pending, {"session_id": session.id}
        for row in waiting:
            if row["id"] != job.id:
                gone = yield from _withdraw(row["id"], facts.tool_call_id, job.created_at, by=job.id)
                changed = replace(changed, events=(*changed.events, *(gone or ())))
    return ScheduledMessageCreated(changed=changed, cancelled=(yield from replaced(changed.job)))


def replaced(job: Job) -> Transaction[list[str]]:
    """Those that were cancelled for this one."""
    found = yield queries.scheduled_messages.replaced_by, {"session_id": job.session_id, "id": job.id}
    return [row["id"] for row in found]


def cancel(session_id: str, job_id: str, tool_call_id: str | None, now: int) -> Transaction[Sequence[Event]]:
    """`AlreadyStarted` when it is being sent, or over."""
    yield from session_log.lock_session(session_id)
    events = yield from _withdraw(job_id, tool_call_id, now)
    if events is None:
        raise AlreadyStarted(f"message {job_id} is being sent or is over; it can no longer be cancelled")
    return events


def _withdraw(
    job_id: str, tool_call_id: str | None, now: int, *, by: str | None = None
) -> Transaction[Sequence[Event] | None]:
    """The caller has the session's row, so that the job cannot fire meanwhile. None: it is too late."""
    job = yield from jobs.load(job_id)
    session = yield from session_log.lock_session(
        job.session_id
    )  # as the events before this one have left it
    reason = "it was cancelled" if by is None else f"message {by} was written in its place"
    if job.state in (JobState.ACTIVE, JobState.PAUSED):
        changed = yield from jobs.remove(job, reason, now)
    elif (yield from _stop_delivery(job, reason, now)):
        changed = yield from jobs.announce(session, job, now)
    else:
        return None
    yield (
        queries.scheduled_messages.note_cancel,
        {
            "job_id": job.id,
            "chat_type": session.chat_type,
            "cancelled_by_tool_call_id": tool_call_id,
            "replaced_by": by,
        },
    )
    return changed.events


def _stop_delivery(job: Job, reason: str, now: int) -> Transaction[bool]:
    """Of one that has come due: as long as no courier has it in hand."""
    unsent = yield queries.runs.unsent_of_job, {"job_id": job.id}
    for row in unsent:
        if (yield from jobs.cancel_delivery(row["delivery_id"], reason, now)):
            return True
    return False
