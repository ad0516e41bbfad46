"""Recalls: jobs by which an agent calls itself back into a conversation.

Beside what every job has: three types, at most one pending recall in a session, and limits against recalls
that keep setting each other.

Invariants
  - at most one recall of a session is pending: scheduled (index `jobs_one_pending_recall`), or due and queued
    in the lane (checked under the session's row lock); a running one is not pending
  - a recall and what the limits count are stored in one transaction under the session's row lock
"""

import re
from datetime import datetime, timedelta

from segue.errors import BadRecall, BadTime, TooManyRecalls
from segue.kernel.transactions import jobs, session_log
from segue.kernel.transactions.result import Result
from segue.model.policy import Busy, Overlap, Policy
from segue.model.records import Job, Session, Source
from segue.model.states import CallType, JobKind
from segue.record import record
from segue.store import queries
from segue.store.database import Transaction
from segue.times.format import quoted
from segue.times.trigger import At, Every, Phase

MOST_AN_HOUR = 20
"""Recalls that may be set in a session within an hour, by the agent and by users."""

DEEPEST = 5
"""The longest chain of immediate recalls, each set by the one before."""

_HOUR_MS = 3_600_000
_TEN_YEARS = 10 * 365 * 86_400
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]")


@record
class RecallFields:
    """What a recall has in addition to its job."""

    call_type: CallType
    comment: str | None = None
    set_in: Source | None = None
    """The scheduled turn that set it; None if a user's turn or the API did."""


def policy(on_busy: Busy) -> Policy:
    """A recall fires however late it is, because its instruction still holds; its prompt says how late.

    A recurring recall skips the slots that come due while its last run is still running.
    """
    return Policy(busy=on_busy, overlap=Overlap.SKIP, grace_seconds=_TEN_YEARS)


def call_type_of(value: object) -> CallType:
    for known in CallType:
        if value == known:
            return known
    raise BadRecall(f"call_type is one of {', '.join(CallType)}; got {quoted(value)}")


def trigger_of(
    call_type: CallType, when: str | None, interval_seconds: float | None, *, now: datetime, zone: str | None
) -> At | Every:
    """The trigger of a recall. Arguments that its type does not use are ignored. Raises `BadRecall`."""
    if call_type is CallType.IMMEDIATE:
        return At(now)
    if not when:
        raise BadRecall(
            f"a {call_type} recall needs `when`, such as '30m', 'in 3 hours' or 'tomorrow at 09:00'"
        )
    if call_type is CallType.RECURRING:
        interval = _interval(interval_seconds)
        return Every(interval, start=_read(when, now, zone), phase=Phase.RELATIVE)
    return At(_read(when, now, zone))


def _interval(seconds: float | None) -> timedelta:
    if seconds is None:
        raise BadRecall("a recurring recall needs `interval_seconds`, such as 300 for every five minutes")
    if isinstance(seconds, bool) or not 1 <= seconds <= _TEN_YEARS:
        raise BadRecall(
            f"`interval_seconds` is a number of seconds from 1 to {_TEN_YEARS:,}; got {quoted(seconds)}"
        )
    return timedelta(seconds=seconds)


def _read(when: str, now: datetime, zone: str | None) -> datetime:
    from segue.times.reader import read  # the grammar is large, and most processes never set a recall

    return read(when, now=now, zone=zone)


def check_offset(offset: str) -> str:
    if not _OFFSET.fullmatch(offset):
        raise BadTime(f"`timezone_offset` is ±HH:MM, such as '+02:00' or '-05:30'; got {quoted(offset)}")
    return offset


def create(session: Session, job: Job, fields: RecallFields) -> Transaction[Result[Job]]:
    """Store a recall. `RecallPending`: the session has one. `TooManyRecalls`: a limit is reached."""
    key = session.key
    yield from session_log.lock_session(session.id)  # `NotFound` if it was deleted: do not create it again
    changed = yield from jobs.create(session.owner, key, job, new_session_id=session.id)
    depth = yield from _depth(fields)
    yield (
        queries.recalls.create,
        {
            "job_id": job.id,
            "call_type": str(fields.call_type),
            "comment": fields.comment,
            "depth": depth,
        },
    )
    # Counted after the insert: a retry must not be refused because of its own recall.
    since = job.created_at - _HOUR_MS
    found = yield queries.recalls.set_since, {"session_id": changed.value.session_id, "since": since}
    if found[0]["found"] > MOST_AN_HOUR:
        raise TooManyRecalls(
            f"{MOST_AN_HOUR} recalls were set in {key} within an hour, which is the most; "
            "say what is left to do, and let the user decide"
        )
    if depth > DEEPEST:
        raise TooManyRecalls(
            f"{DEEPEST} immediate recalls in {key} have set each other, which is the most; "
            "go on in this turn, or set one for a later moment"
        )
    return changed


def _depth(fields: RecallFields) -> Transaction[int]:
    """Length of the chain of immediate recalls that ends with this one."""
    if fields.call_type is not CallType.IMMEDIATE:
        return 0
    if fields.set_in is None or fields.set_in.kind != JobKind.RECALL:
        return 1
    found = yield queries.recalls.depth, {"job_id": fields.set_in.job_id}
    return 1 + (int(found[0]["depth"]) if found else 0)
