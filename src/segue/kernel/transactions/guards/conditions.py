"""Conditions of jobs: reads what they look at, and withdraws a turn whose conditions no longer hold.

Invariants
  - the second check is made in the transaction that starts the turn, under the lock of its session: a message
    that was committed before it counts, and no turn starts after the message that makes it unwanted
  - a job without conditions costs no statement
"""

from dataclasses import replace
from datetime import datetime

from segue.kernel.transactions import jobs, session_log
from segue.kernel.transactions.guards import budgets
from segue.kernel.transactions.lane import freed, queue_update
from segue.kernel.transactions.result import Result
from segue.model.conditions.check import MOST_EVENTS, ConversationFacts, LastRun, UserMessage, unmet
from segue.model.conditions.vocabulary import Otherwise
from segue.model.decision import End
from segue.model.records import Job, Session, Turn
from segue.model.states import JobState
from segue.record import positional
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import core as rows
from segue.times.clock import to_moment


@positional
class SlotFacts:
    """What decides whether a slot of a job is wanted."""

    facts: ConversationFacts
    unanswered_runs: int = 0


def read_conversation(job: Job, session_id: str, heard_at: int | None, zone: str) -> Transaction[SlotFacts]:
    """The facts of the session that the job's turn runs in, for the decision about a slot."""
    facts = yield from _read_facts(job, session_id, heard_at, zone)
    unanswered = 0
    if job.policy.renew_after is not None:
        since = job.created_at if heard_at is None else heard_at
        found = yield queries.runs.unanswered, {"job_id": job.id, "since": since}
        unanswered = found[0]["count"]
    return SlotFacts(facts, unanswered)


def _read_facts(job: Job, session_id: str, heard_at: int | None, zone: str) -> Transaction[ConversationFacts]:
    conditions = job.policy.when or ()
    said: list[UserMessage] = []
    if any(condition.words for condition in conditions):
        said = yield from _said_since(session_id, job.created_at)
    named: dict[str, LastRun] = {}
    for condition in conditions:
        found = (yield queries.jobs.by_id, {"id": condition.job}) if condition.job else ()
        if found:
            other = rows.job(found[0])
            named[other.id] = LastRun(other.name, other.last_outcome, _moment(other.last_run_at))
    return ConversationFacts(
        created_at=to_moment(job.created_at),
        last_run_at=_moment(job.last_run_at),
        heard_at=_moment(heard_at),
        said=said,
        done_at=_moment(job.replied.done_at) if job.replied else None,
        jobs=named,
        zone=zone,
    )


def _said_since(session_id: str, since: int) -> Transaction[list[UserMessage]]:
    """What users said, newest first, with what waits in the lane."""
    waiting = yield queries.turns.users_said, {"session_id": session_id, "since": since}
    logged = yield (
        queries.events.users_said,
        {"session_id": session_id, "since": since, "limit": MOST_EVENTS},
    )
    messages = [UserMessage(to_moment(row["queued_at"]), row["content"]) for row in waiting]
    return messages + [rows.user_message(row) for row in logged]


def _moment(at: int | None) -> datetime | None:
    return None if at is None else to_moment(at)


def why_unwanted(session: Session, turn: Turn, now: int) -> Transaction[tuple[Job, str] | None]:
    """The job of a guarded turn that starts now, and why its conditions no longer hold; None: they hold."""
    assert turn.source is not None  # a guarded turn has both
    assert turn.brief is not None
    found = yield queries.jobs.by_id, {"id": turn.source.job_id}
    job = rows.job(found[0]) if found else None
    if job is None or not job.policy.when:
        return None
    facts = yield from _read_facts(job, session.id, session.last_message_at, turn.brief.zone)
    reason = unmet(job.policy.when, facts, to_moment(now))
    return (job, reason) if reason else None


def withdraw(
    session: Session, holder: str, turn: Turn, job: Job, reason: str, now: int
) -> Transaction[Result[None]]:
    """Withdraw a turn that was started in this transaction, release its lane, and end the job if it ends so.

    The update of the queue takes the event number that the lease took for the start of the turn.
    """
    withdrawn: Params = {"id": turn.id, "fence": session.fence, "reason": reason, "now": now}
    yield queries.turns.withdraw_started, withdrawn
    if turn.reserved is not None:
        yield from budgets.release(replace(turn, attempt=0), turn.reserved)  # it has used nothing
    waiting = yield queries.turns.waiting_in, {"session_id": session.id}
    update = queue_update(session, waiting, now, chat_id=turn.chat_id)
    events = yield from session_log.append_turn_events([replace(update, seq=session.last_seq)])
    lane: Params = {"id": session.id, "holder": holder, "fence": session.fence, **session_log.NOTHING}
    end = freed((yield queries.sessions.release, lane), events)
    if job.policy.otherwise is not Otherwise.END:
        return end
    ended = yield from _end_job(job.id, now)
    return replace(end, events=[*end.events, *ended.events]) if ended else end


def _end_job(job_id: str, now: int) -> Transaction[Result[Job] | None]:
    """End a job that is still active."""
    job = yield from jobs.load(job_id)
    yield from session_log.lock_session(job.session_id)
    job = yield from jobs.load(job_id)
    if job.state is not JobState.ACTIVE:
        return None
    over = replace(job, state=JobState.ENDED, state_reason=str(End.CONDITION), slot=None, next_at=None)
    return (yield from jobs.change(over, now))
