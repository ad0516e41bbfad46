"""Sessions: opens, changes and deletes them, and stores messages without a turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, TypeAlias

from segue.errors import ChangedMeanwhile, SessionHasJobs
from segue.kernel.transactions import day_sets, lane, session_log, settle, unified
from segue.kernel.transactions.guards import budgets
from segue.kernel.transactions.quiet import hours
from segue.kernel.transactions.quiet.held import NO_HOURS, DefaultHours
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.unified import Address, Route
from segue.model.auto_commit import AutoCommitPolicy, next_look
from segue.model.cost.budget import Budget
from segue.model.records import Event, Lookup, Session, parts_body
from segue.model.states import Outcome
from segue.model.written_message import WrittenMessage
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Rows, Transaction
from segue.store.reads import readable
from segue.store.rows import core as rows


@positional
class SessionOpened:
    session: Session
    created: bool


class Unset(Enum):
    UNSET = "not given"

    def __repr__(self) -> str:
        return self.name


UNSET = Unset.UNSET
"""Sentinel for "not given"; `None` means "no policy"."""

MaybePolicy: TypeAlias = AutoCommitPolicy | Unset | None
MaybeDays: TypeAlias = str | Unset | None
MaybeBudget: TypeAlias = Budget | Unset | None


@record
class StoredMessages:
    """How many messages were stored, the number of the last one, and the session's counts after it."""

    added: int
    last_seq: int
    message_count: int
    pending_tokens: int


def open_new(
    lookup: Lookup,
    key: str,
    now: int,
    *,
    new_id: str,
    policy: AutoCommitPolicy | None = None,
    **fields: object,
) -> Transaction[SessionOpened]:
    """The session of that key, locked; created with these fields if it is missing."""
    session = yield from session_log.lock_by_lookup(lookup, key)
    made = False
    if session is None:
        key_columns = session_log.key_params(lookup.owner, key)
        columns = {**_columns(fields), **session_log.policy_columns(policy)}
        made = yield from session_log.create_session(key_columns, columns, new_id, now)
        found = yield queries.sessions.lock_by_key, key_columns
        session = rows.session(found[0])
    # A retry after a commit whose answer was lost finds the session that it created itself.
    return SessionOpened(session, made or session.id == new_id)


def write(
    address: Address,
    messages: Sequence[WrittenMessage],
    now: int,
    *,
    policy: MaybePolicy = UNSET,
    after: int | None = None,
) -> Transaction[Result[StoredMessages]]:
    """Store messages without a turn. They count as user activity now, whenever they were said; the next turn
    sees them. `policy`: the new archiving policy of the session. `after`: what the number of the newest event
    must be."""
    route = yield from unified.open_route(address, now)
    session = route.chat
    if after is not None and session.last_seq != after:
        raise ChangedMeanwhile(f"something else was written to {session.key}; compare it again")
    if not isinstance(policy, Unset):
        session = yield from set_policy(session, policy, now)
    title = next((message.text for message in messages if message.role == "user"), None)
    yield from lane.record_activity(route, now, title=title)
    woken = lane.woken_by_activity(route)
    common = replace(route.common, last_message_at=now) if route.common else None
    route = Route(replace(session, last_message_at=now), common)
    written = [
        session_log.message(
            session.id, message.role, message.text, message.at, body=parts_body(message.parts)
        )
        for message in messages
    ]
    events = yield from unified.append_events(route, written, now)
    counted = yield queries.sessions.counts, {"id": session.id}
    stored = StoredMessages(
        added=len(written),
        last_seq=events[len(written) - 1].seq,  # those of a common session come after the chat's own
        message_count=counted[0]["message_count"],
        pending_tokens=rows.live(counted[0]).pending_tokens,
    )
    return Result(value=stored, events=events, wake=woken | {Name.ARCHIVIST})


def set_policy(session: Session, policy: AutoCommitPolicy | None, now: int) -> Transaction[Session]:
    """Set the archiving policy of a locked session. None: it is archived only on request."""
    keep = policy.keep_recent_count if policy else 0
    kept = 0
    if keep:
        kept = yield from session_log.kept_tokens(session.id, after=session.live.archived_seq, keep=keep)
    unarchived = replace(
        session.live, policy=policy, keep_recent_count=keep, kept_tokens=kept, commit_at=None
    )
    unarchived = replace(unarchived, commit_at=next_look(unarchived, session.last_message_at, now))
    columns = session_log.policy_columns(policy)
    yield (
        queries.sessions.set_policy,
        {"id": session.id, **columns, "kept_tokens": kept, "commit_at": unarchived.commit_at},
    )
    return replace(session, live=unarchived)


def change(
    session: Session,
    now: int,
    *,
    policy: Callable[[AutoCommitPolicy | None], AutoCommitPolicy | None] | None = None,
    days: MaybeDays = UNSET,
    budget: MaybeBudget = UNSET,
    default: DefaultHours = NO_HOURS,
    **fields: object,
) -> Transaction[Session]:
    """Change fields of a session that users may set: title, timezone, when_busy, metadata, quiet, digest.

    `policy`: computes the new archiving policy from the current one. `days`: the name of its day set.
    `budget`: what its scheduled runs may use in a period.
    """
    current = yield from session_log.lock_session(session.id)
    if not isinstance(days, Unset):
        yield from day_sets.choose(current, days)
    if not isinstance(budget, Unset):
        yield from budgets.limit_session(current.id, budget)
    if policy is not None:
        current = yield from set_policy(current, policy(current.live.policy), now)
    changed = replace(current, **fields)  # type: ignore[arg-type]
    columns = {
        "id": changed.id,
        "title": changed.title,
        "timezone": changed.timezone,
        "when_busy": changed.when_busy,
        "metadata": rows.to_text(changed.metadata) or "{}",
        "quiet": changed.quiet,
        "digest": changed.digest,
    }
    yield queries.sessions.change, columns
    if (changed.quiet, changed.digest, changed.timezone) != (current.quiet, current.digest, current.timezone):
        yield from hours.changed(changed, default, now)
    return changed


def suggest_zone(session: Session, timezone: str, now: int) -> Transaction[Session]:
    """Set the time zone of a session that has none."""
    current = yield from session_log.lock_session(session.id)
    if current.timezone is not None:
        return current
    return (yield from change(current, now, timezone=timezone))


def share_calendar(session_id: str, token_hash: str, now: int) -> Transaction[None]:
    """Store the address of a session's calendar, in place of the one before."""
    yield from session_log.lock_session(session_id)
    yield queries.calendars.put, {"session_id": session_id, "token_hash": token_hash, "now": now}


def revoke_calendar(session_id: str) -> Transaction[bool]:
    """Remove the address of a session's calendar. False: there is none."""
    return bool((yield queries.calendars.remove, {"session_id": session_id}))


def check_jobs(session: Session, *, with_jobs: bool) -> Transaction[None]:
    """Raise `SessionHasJobs` if the session has cron jobs, paused or not, and `with_jobs` is not set."""
    blocking = yield queries.jobs.blocking, {"session_id": session.id}
    if blocking and not with_jobs:
        raise SessionHasJobs(
            f"{session.key} has {len(blocking)} jobs; delete them with it, or remove them first",
            readable(blocking, "job", rows.job),
        )


def delete(session: Session, *, with_jobs: bool, now: int, shared: bool = False) -> Transaction[Result[None]]:
    """Delete a session and all that belongs to it. Raises `SessionHasJobs`.

    A turn that still runs in it loses its lease: its next renewal or write fails. `shared`: unified mode, so
    turns from this chat that wait in the common lane are withdrawn.
    """
    common = (yield from unified.lock_common_of(session)) if shared else None
    session = yield from session_log.lock_session(session.id)
    yield from check_jobs(session, with_jobs=with_jobs)
    end: Result[None] = Result(value=None)
    if common is not None:
        waiting = yield queries.turns.queued_via, {"session_id": common.id, "via_id": session.id}
        end = yield from _withdraw(common, waiting, f"its chat {session.key} was deleted", now)
    gone = f"session {session.key} no longer exists"
    if session.key == unified.KEY:
        end = yield from _end_all(session, gone, now)
    yield queries.tasks.fail_of_session, {"session_id": session.id, "error": gone}
    yield queries.memories.remove_passages, {"session_id": session.id}
    yield queries.events.remove_of_session, {"session_id": session.id}
    yield queries.reservations.settle_of_session, {"session_id": session.id}
    yield queries.sessions.remove, {"id": session.id}
    if common is not None:
        yield from _redirect(common, session)
    return replace(end, wake=end.wake | {Name.KEEPER})  # which finds that a running turn lost its lease


def _redirect(common: Session, gone: Session) -> Transaction[None]:
    """Give queued turns of the common session's jobs another chat in place of a deleted one."""
    queued = yield queries.turns.queued_in, {"session_id": common.id}
    stranded = [row["id"] for row in queued if row["via_id"] == gone.id]
    if stranded:
        chat = yield from unified.newest_chat(common)
        via_id = chat.id if chat else common.id
        yield queries.turns.redirect, [{"id": turn_id, "via_id": via_id} for turn_id in stranded]


def _end_all(common: Session, gone: str, now: int) -> Transaction[Result[None]]:
    """End all turns of a common session before it is deleted: its chats' logs then show how they ended."""
    waiting = yield queries.turns.queued_in, {"session_id": common.id}
    end = yield from _withdraw(common, waiting, gone, now)
    ended = yield from settle.stop_running((yield from session_log.lock_session(common.id)), now)
    stay = yield queries.turns.with_runs_elsewhere, {"session_id": common.id}
    yield queries.runs.outlive, [{"id": row["run_id"]} for row in stay]
    return Result(value=None, events=(*end.events, *ended))


def _withdraw(common: Session, waiting: Rows, reason: str, now: int) -> Transaction[Result[None]]:
    closures: list[Event] = []
    for row in waiting:
        closures += (yield from lane.withdraw(row["id"], Outcome.CANCELLED, reason, now)) or ()
    if not waiting:
        return Result(value=None)
    return (yield from lane.queue_changed(common, closures, now))


def _columns(fields: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "chat_type": fields.get("chat_type", "private"),
        "title": fields.get("title"),
        "timezone": fields.get("timezone"),
        "when_busy": fields.get("when_busy"),
        "metadata": rows.to_text(fields.get("metadata")) or "{}",
    }
