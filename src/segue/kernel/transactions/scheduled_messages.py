"""Scheduled messages: jobs that send one text once, without a model call.

Beside what every job has: they are for private chats, a new one may replace those that wait, and they can be
cancelled until sending starts.

Invariants
  - of a cancel and a send, one wins: a cancelled message is never sent, and one being sent is not cancelled
  - a message and the cancellation of those it replaces are one transaction: a refused one cancels nothing
"""

from collections.abc import Sequence
from dataclasses import replace

from segue.errors import AlreadyStarted
from segue.kernel.transactions import jobs, session_log
from segue.kernel.transactions.result import Name, Result
from segue.model.policy import Policy
from segue.model.records import Job, Owner
from segue.model.states import JobState
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Transaction

_TEN_YEARS = 10 * 365 * 86_400


@record
class ScheduledMessageFields:
    """What a scheduled message has in addition to its job."""

    chat_type: str
    replace_existing: bool = False
    tool_call_id: str | None = None
    """The model's tool call that created it; None if a user did."""


@positional
class NewMessage:
    job: Job
    replaced: Sequence[str]
    """The ids of the messages that were cancelled for it."""


POLICY = Policy(grace_seconds=_TEN_YEARS)
"""A message is sent however late it is."""


def create(
    owner: Owner, key: str, job: Job, fields: ScheduledMessageFields, *, new_session_id: str
) -> Transaction[Result[NewMessage]]:
    changed = yield from jobs.create(owner, key, job, new_session_id=new_session_id)
    session = yield from session_log.lock_session(changed.value.session_id)
    yield (
        queries.scheduled_messages.create,
        {
            "job_id": job.id,
            "chat_type": fields.chat_type,
            "replace_existing": int(fields.replace_existing),
            "created_by_tool_call_id": fields.tool_call_id,
        },
    )
    if fields.replace_existing:
        waiting = yield queries.scheduled_messages.pending, {"session_id": session.id}
        for row in waiting:
            if row["id"] != job.id:
                gone = yield from _withdraw(row["id"], fields.tool_call_id, job.created_at, by=job.id)
                if gone is not None:
                    changed = replace(
                        changed, events=(*changed.events, *gone.events), wake=changed.wake | gone.wake
                    )
    new = NewMessage(changed.value, (yield from replaced(changed.value)))
    return Result(value=new, events=changed.events, wake=changed.wake)


def replaced(job: Job) -> Transaction[list[str]]:
    """The ids of the messages that were cancelled for this one."""
    found = yield queries.scheduled_messages.replaced_by, {"session_id": job.session_id, "id": job.id}
    return [row["id"] for row in found]


def cancel(session_id: str, job_id: str, tool_call_id: str | None, now: int) -> Transaction[Result[None]]:
    """Cancel a message. `AlreadyStarted`: it is being sent, or over."""
    yield from session_log.lock_session(session_id)
    withdrawn = yield from _withdraw(job_id, tool_call_id, now)
    if withdrawn is None:
        raise AlreadyStarted(f"message {job_id} is being sent or is over; it can no longer be cancelled")
    return withdrawn


def _withdraw(
    job_id: str, tool_call_id: str | None, now: int, *, by: str | None = None
) -> Transaction[Result[None] | None]:
    """Cancel a message of a locked session, so that it cannot fire at the same time. None: it is too late."""
    job = yield from jobs.load(job_id)
    session = yield from session_log.lock_session(job.session_id)  # read again: `last_seq` may have grown
    reason = "it was cancelled" if by is None else f"message {by} was written in its place"
    if job.state in (JobState.ACTIVE, JobState.PAUSED):
        events = (yield from jobs.remove(job, reason, now)).events
    elif (yield from _stop_delivery(job, reason, now)):
        events = yield from jobs.announce(session, job, now)
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
    # Other messages may have waited behind it.
    return Result(value=None, events=events, wake=frozenset({Name.TIMER, Name.COURIER}))


def _stop_delivery(job: Job, reason: str, now: int) -> Transaction[bool]:
    """Cancel the delivery of a message that has come due. False: a courier has leased it, or it is over."""
    unsent = yield queries.runs.unsent_of_job, {"job_id": job.id}
    for row in unsent:
        if (yield from jobs.cancel_delivery(row["delivery_id"], reason, now)):
            return True
    return False
