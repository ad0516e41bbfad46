"""Sessions as wholes: what is written to one from outside, how one is changed, how one goes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from segue.errors import SessionHasJobs
from segue.kernel.transactions import lane, session_log, settle, unified
from segue.kernel.transactions.lane import TurnEnd
from segue.model.auto_commit import AutoCommitPolicy, next_look
from segue.model.records import Event, Lookup, Session
from segue.model.states import Outcome
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Rows, Transaction
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.store.store import readable


@positional
class SessionOpened:
    session: Session
    created: bool


class _Unsaid(Enum):
    UNSAID = "nothing was said about it"

    def __repr__(self) -> str:
        return self.name


UNSAID = _Unsaid.UNSAID
"""Not None, which says that there shall be none."""

MaybePolicy: TypeAlias = AutoCommitPolicy | _Unsaid | None


class Policies(NamedTuple):
    """What a write says about how its session is put away."""

    given: MaybePolicy = UNSAID
    of_a_new_session: AutoCommitPolicy | None = None


@record
class MessagesWritten:
    """Messages that were stored, and how their session stands after it."""

    added: int
    message_count: int
    pending_tokens: int
    events: Sequence[Event] = ()


def open_new(
    lookup: Lookup,
    key: str,
    now: int,
    *,
    new_id: str,
    policy: AutoCommitPolicy | None = None,
    **fields: object,
) -> Transaction[SessionOpened]:
    """The session of that key; made of these fields if it is missing."""
    session = yield from session_log.lock_found(lookup, key)
    made = False
    if session is None:
        named = session_log.named_by(lookup.owner, key)
        columns = {**_columns(fields), **session_log.policy_columns(policy)}
        made = yield from session_log.make_session(named, columns, new_id, now)
        found = yield queries.sessions.lock_by_key, named
        session = rows.session(found[0])
    # Driven again after a commit whose answer was lost, it finds what it made itself.
    return SessionOpened(session, made or session.id == new_id)


def write(
    lookup: Lookup,
    key: str,
    words: Sequence[tuple[str, str]],
    now: int,
    *,
    new_id: str,
    policies: Policies,
    common_id: str | None = None,
) -> Transaction[MessagesWritten]:
    """Messages, each a role and a text, stored without a turn. They are a sign of life, and the next turn
    sees them."""
    common = None
    default = policies.of_a_new_session
    if common_id is None or key == unified.KEY:
        session = yield from session_log.open_found(lookup, key, new_id, now, policy=default)
    else:
        common, session = yield from session_log.open_shared(
            lookup, key, new_id, common_id, now, policy=default
        )
        yield from lane.hear(common, now)
        common = replace(common, last_message_at=now)
    if not isinstance(policies.given, _Unsaid):
        session = yield from follow_policy(session, policies.given, now)
    title = next((text for role, text in words if role == "user"), None)
    yield from lane.hear(session, now, title=title)
    session = replace(session, last_message_at=now)
    said = [
        Event(session_id=session.id, seq=0, type="message", at=now, role=role, content=text)
        for role, text in words
    ]
    events = [*(yield from session_log.append_events(session, said))]
    added = len(events)
    if common is not None:
        events += yield from session_log.share_events(common, session, said)
    counted = yield queries.sessions.overview, {"id": session.id}
    overview = overviews.overview(counted[0])
    return MessagesWritten(
        added=added,
        message_count=overview.message_count,
        pending_tokens=overview.pending_tokens,
        events=events,
    )


def follow_policy(session: Session, policy: AutoCommitPolicy | None, now: int) -> Transaction[Session]:
    """From now on, a locked session is put away like this. None: by nobody but those who ask for it."""
    keep = policy.keep_recent_count if policy else 0
    kept = 0
    if keep:
        kept = yield from session_log.kept_tokens(session.id, after=session.live.archived_seq, keep=keep)
    live = replace(session.live, policy=policy, keep_recent_count=keep, kept_tokens=kept, commit_at=None)
    live = replace(live, commit_at=next_look(live, session.last_message_at, now))
    columns = session_log.policy_columns(policy)
    yield (
        queries.sessions.set_policy,
        {"id": session.id, **columns, "kept_tokens": kept, "commit_at": live.commit_at},
    )
    return replace(session, live=live)


def change(
    session: Session,
    now: int,
    *,
    policy: Callable[[AutoCommitPolicy | None], AutoCommitPolicy | None] | None = None,
    **fields: object,
) -> Transaction[Session]:
    """Fields of a session that people may set: title, timezone, when_busy, metadata.

    `policy` makes the session's policy from the one that it has.
    """
    there = yield from session_log.lock_session(session.id)
    if policy is not None:
        there = yield from follow_policy(there, policy(there.live.policy), now)
    changed = replace(there, **fields)  # type: ignore[arg-type]
    columns = {
        "id": changed.id,
        "title": changed.title,
        "timezone": changed.timezone,
        "when_busy": changed.when_busy,
        "metadata": rows.to_text(changed.metadata) or "{}",
    }
    yield queries.sessions.change, columns
    return changed


def suggest_zone(session: Session, timezone: str, now: int) -> Transaction[Session]:
    """The time zone of a session that has none; one that it has stays."""
    there = yield from session_log.lock_session(session.id)
    if there.timezone is not None:
        return there
    return (yield from change(there, now, timezone=timezone))


def check_jobs(session: Session, *, with_jobs: bool) -> Transaction[None]:
    """A session's own cron jobs, paused ones too, want to be named before it goes."""
    blocking = yield queries.jobs.blocking, {"session_id": session.id}
    if blocking and not with_jobs:
        raise SessionHasJobs(
            f"{session.key} has {len(blocking)} jobs; delete them with it, or remove them first",
            readable(blocking, "job", rows.job),
        )


def delete(session: Session, *, with_jobs: bool, now: int, shared: bool = False) -> Transaction[TurnEnd]:
    """All of a session. A turn that still runs in it is over with it: its worker's next renewal misses, and
    so does whatever it would still write.

    `shared`: what came by it and waits in the common lane is withdrawn.
    """
    common = (yield from session_log.common_session_of(session.id)) if shared else None
    session = yield from session_log.lock_session(session.id)
    yield from check_jobs(session, with_jobs=with_jobs)
    left = TurnEnd(events=(), ready=None)
    if common is not None:
        waiting = yield queries.turns.queued_via, {"session_id": common.id, "via_id": session.id}
        left = yield from _withdraw(common, waiting, f"its chat {session.key} was deleted", now)
    gone = f"session {session.key} no longer exists"
    if session.key == unified.KEY:
        left = yield from _end_all(session, gone, now)
    yield queries.tasks.fail_of_session, {"session_id": session.id, "error": gone}
    yield queries.memories.remove_passages, {"session_id": session.id}
    yield queries.events.remove_of_session, {"session_id": session.id}
    yield queries.sessions.remove, {"id": session.id}
    if common is not None:
        yield from _redirect(common, session)
    return left


def _redirect(common: Session, gone: Session) -> Transaction[None]:
    """Turns of the common session's own jobs that would have spoken through a deleted chat take another."""
    queued = yield queries.turns.queued_in, {"session_id": common.id}
    stranded = [row["id"] for row in queued if row["via_id"] == gone.id]
    if stranded:
        chat = yield from session_log.newest_chat(common)
        via_id = chat.id if chat else common.id
        yield queries.turns.redirect, [{"id": turn_id, "via_id": via_id} for turn_id in stranded]


def _end_all(common: Session, gone: str, now: int) -> Transaction[TurnEnd]:
    """What is said of a common session in its chats stays when it goes: that turns have ended, and how."""
    waiting = yield queries.turns.queued_in, {"session_id": common.id}
    left = yield from _withdraw(common, waiting, gone, now)
    ended = yield from settle.stop_here((yield from session_log.lock_session(common.id)), now)
    stay = yield queries.turns.with_runs_elsewhere, {"session_id": common.id}
    yield queries.runs.outlive, [{"id": row["run_id"]} for row in stay]
    return TurnEnd(events=(*left.events, *ended), ready=None)


def _withdraw(common: Session, waiting: Rows, reason: str, now: int) -> Transaction[TurnEnd]:
    closures: list[Event] = []
    for row in waiting:
        closures += (yield from lane.withdraw(row["id"], Outcome.CANCELLED, reason, now)) or ()
    if not waiting:
        return TurnEnd(events=(), ready=None)
    return (yield from lane.queue_changed(common, closures, now))


def _columns(fields: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "chat_type": fields.get("chat_type", "private"),
        "title": fields.get("title"),
        "timezone": fields.get("timezone"),
        "when_busy": fields.get("when_busy"),
        "metadata": rows.to_text(fields.get("metadata")) or "{}",
    }
