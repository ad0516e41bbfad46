"""Session log: locks a session's row, creates it if missing, and appends events to its log.

Invariants
  - events are numbered without gaps, under the session's row lock
  - events and the row's counts of them are written in one transaction
  - an event of a turn is in the log of the session it runs in, and in unified mode also in the chat's
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from segue.errors import AmbiguousKey, NotFound
from segue.model.auto_commit import AutoCommitPolicy, Unarchived, next_look
from segue.model.records import Event, Lookup, Owner, Session, Source, Turn, message_tokens
from segue.model.transcript import is_news
from segue.store import queries
from segue.store.database import Params, Row, Transaction, Value
from segue.store.rows import core as rows

NOTHING: Params = {"events": 0, "messages": 0, "tokens": 0, "kept_tokens": None, "commit_at": None}
"""The growth of a session when no event is added (see `growth`)."""


class SessionTotals(NamedTuple):
    """The state of a session's log, read from its locked row."""

    last_seq: int
    heard_at: int | None
    unarchived: Unarchived


_DEFAULTS = {"chat_type": "private", "title": None, "timezone": None, "when_busy": None, "metadata": "{}"}
"""Columns of a session that is created by its first message or job."""


def open_session(
    owner: Owner, key: str, new_id: str, now: int, *, policy: AutoCommitPolicy | None = None
) -> Transaction[Session]:
    """The session of that key, locked; created with this policy if it is missing."""
    key_columns = key_params(owner, key)
    found = yield queries.sessions.lock_by_key, key_columns
    if not found:
        yield from create_session(key_columns, {**_DEFAULTS, **policy_columns(policy)}, new_id, now)
        found = yield queries.sessions.lock_by_key, key_columns
    return rows.session(found[0])


def open_by_lookup(
    lookup: Lookup, key: str, new_id: str, now: int, *, policy: AutoCommitPolicy | None = None
) -> Transaction[Session]:
    """The session that a caller means by a key, locked; created with this policy if it is missing.

    An existing session costs one statement.
    """
    found = yield from lock_by_lookup(lookup, key)
    return found or (yield from open_session(lookup.owner, key, new_id, now, policy=policy))


def lock_by_lookup(lookup: Lookup, key: str) -> Transaction[Session | None]:
    """As above; None if it is missing. `AmbiguousKey`: several users of the account have that key."""
    if lookup.first == lookup.owner:
        found = yield queries.sessions.lock_by_key, key_params(lookup.first, key)
        if found or not lookup.whole_account:
            return rows.session(found[0]) if found else None
    found = yield queries.sessions.lock_in_account, key_params(lookup.first, key)
    if not found:
        yield from _refuse_ambiguous(lookup, key)
    return rows.session(found[0]) if found else None


def owner_by_lookup(lookup: Lookup, key: str) -> Transaction[Owner]:
    """The owner of the session that a caller means by a key, before any row is locked."""
    if not lookup.whole_account:
        return lookup.owner
    found = yield queries.sessions.in_account, key_params(lookup.first, key)
    if not found:
        yield from _refuse_ambiguous(lookup, key)
    return rows.session(found[0]).owner if found else lookup.owner


def _refuse_ambiguous(lookup: Lookup, key: str) -> Transaction[None]:
    others = yield queries.directory.users_of, {"account": lookup.first.account, "key": key}
    if len(others) > 1:
        raise AmbiguousKey(key, [row["user_id"] for row in others])


def key_params(owner: Owner, key: str) -> Params:
    return {"account": owner.account, "user_id": owner.user, "key": key}


def create_session(key_columns: Params, columns: Params, new_id: str, now: int) -> Transaction[bool]:
    """False: another transaction has created the session of that key."""
    entered = yield queries.directory.enter, {**key_columns, "session_id": new_id}
    if entered:
        yield queries.sessions.create, {**key_columns, **columns, "id": new_id, "now": now}
        yield queries.activity.enter, {"session_id": new_id}
    return bool(entered)


def policy_columns(policy: AutoCommitPolicy | None) -> dict[str, Value]:
    return {
        "auto_commit_policy": rows.auto_commit_text(policy),
        "keep_recent_count": policy.keep_recent_count if policy else 0,
    }


def lock_session(session_id: str) -> Transaction[Session]:
    found = yield queries.sessions.lock, {"id": session_id}
    if not found:
        raise NotFound(f"there is no session {session_id}")
    return rows.session(found[0])


def message(
    session_id: str,
    role: str,
    text: str,
    at: int,
    *,
    source: Source | None = None,
    body: Mapping[str, Any] | None = None,
) -> Event:
    """A message that belongs to no turn, without a number."""
    return Event(
        session_id=session_id,
        seq=0,
        type="message",
        at=at,
        role=role,
        content=text,
        source=source,
        body=body or {},
    )


def append_events(session: Session, events: Sequence[Event], now: int) -> Transaction[Sequence[Event]]:
    """Append events that belong to no turn to the log of a locked session. Returns them numbered.

    An event may be older than `now`: its number, the counts and the idle clock go by when it is written.
    """
    events = numbered(events, session.last_seq)
    yield from _insert(events)
    grown = yield from growth(session.id, totals_of(session), events, now)
    yield queries.sessions.grow, {"id": session.id, **grown}
    return events


def append_turn_events(events: Sequence[Event]) -> Transaction[list[Event]]:
    """Append numbered events of turns, and copy those that came through a chat into its log.

    The caller counts them in the row of their session; copies are counted here, and never cause archiving.
    Returns all of them.
    """
    written = list(events)
    if events:
        yield from _insert(events)
    for chat_id in {event.via_id: None for event in events if event.via_id}:
        written += yield from _copy([event for event in events if event.via_id == chat_id], chat_id)
    return written


def _copy(events: Sequence[Event], chat_id: str) -> Transaction[Sequence[Event]]:
    """Copy events into the log of a chat, under its own numbers; no copies if the chat was deleted."""
    sizes = _sizes(events)
    grown = {**NOTHING, "events": len(events), "messages": len(sizes), "tokens": sum(sizes)}
    found = yield queries.sessions.grow, {"id": chat_id, **grown}
    if not found:
        return ()
    copies = [replace(event, session_id=chat_id, via_id=None) for event in events]
    copies = numbered(copies, int(found[0]["last_seq"]) - len(events))
    yield from _insert(copies)
    return copies


def _insert(events: Sequence[Event]) -> Transaction[None]:
    """Store events. A message counts as activity of its session, by which sessions are listed and indexed."""
    yield queries.events.append, [rows.event_params(event) for event in events]
    for session_id, said in _said(events).items():
        yield queries.activity.logged, {"id": session_id, **said}


def _said(events: Sequence[Event]) -> dict[str, dict[str, int]]:
    """For each session: the time of its last message, or 0 if a turn ended without one; how many messages are
    news; when a job last spoke.

    The start of a turn does not count: a user's message counted when it arrived, and the turn's end counts.
    """
    said: dict[str, dict[str, int]] = {}
    for event in events:
        if event.type == "stream_start" or not (event.role or event.type == "stream_end"):
            continue
        counts = said.setdefault(event.session_id, {"now": 0, "news": 0, "job_said_at": 0})
        if event.role:
            counts["now"] = event.at
            counts["news"] += is_news(event)
            if event.source:
                counts["job_said_at"] = max(counts["job_said_at"], event.at)
    return said


def totals_of(session: Session) -> SessionTotals:
    return SessionTotals(session.last_seq, session.last_message_at, session.live)


_NOT_COUNTED = Unarchived()
"""Stands for the counts of a session whose policy needs none of them."""


def totals_of_row(row: Row) -> SessionTotals:
    heard_at, last_seq, *unarchived = row
    watched = row["auto_commit_policy"] is not None or row["keep_recent_count"]
    return SessionTotals(last_seq, heard_at, rows.live(unarchived) if watched else _NOT_COUNTED)


def growth(
    session_id: str, totals: SessionTotals, events: Sequence[Event], now: int, *, opened: Turn | None = None
) -> Transaction[dict[str, Value]]:
    """What these events add to the session's counts, and when to check its policy next.

    `opened`: the turn whose first message was not counted yet; it is counted when the turn ends.
    """
    sizes = _sizes(events)
    if opened is not None:
        sizes.append(message_tokens(opened.content, opened.parts))
    unarchived = totals.unarchived
    kept = commit_at = None
    if sizes and unarchived.keep_recent_count:
        kept = yield from kept_tokens(
            session_id, after=unarchived.archived_seq, keep=unarchived.keep_recent_count
        )
    if sizes and unarchived.policy is not None:
        messages, tokens = unarchived.messages + len(sizes), unarchived.tokens + sum(sizes)
        grown = replace(unarchived, messages=messages, tokens=tokens, kept_tokens=kept or 0)
        commit_at = next_look(grown, totals.heard_at, now)
    return {
        "events": len(events),
        "messages": len(sizes),
        "tokens": sum(sizes),
        "kept_tokens": kept,
        "commit_at": commit_at,
    }


def _sizes(events: Sequence[Event]) -> list[int]:
    """The tokens of each message."""
    return [event.tokens for event in events if event.role and event.content]


def kept_tokens(session_id: str, *, after: int, keep: int) -> Transaction[int]:
    """Tokens of the newest messages that archiving would leave in the session."""
    found = yield queries.events.newest_tokens, {"session_id": session_id, "after": after, "keep": keep}
    return sum(row["tokens"] for row in found)


def numbered(events: Sequence[Event], last_seq: int) -> list[Event]:
    return [event.numbered(last_seq + offset) for offset, event in enumerate(events, 1)]
