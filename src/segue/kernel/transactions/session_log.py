"""A session's row and its log: how the row is had under its lock, and how facts are entered in the log.

Invariants
  - facts are numbered without gaps, under the session's row lock
  - what is in the log and what the row counts of it change in one statement
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from segue.errors import AmbiguousKey, NotFound
from segue.kernel.transactions import unified
from segue.model.auto_commit import AutoCommitPolicy, Unarchived, next_look
from segue.model.records import Event, Lookup, Owner, Session
from segue.model.tokens import estimate
from segue.store import queries
from segue.store.database import Params, Row, Transaction, Value
from segue.store.rows import core as rows

NOTHING: Params = {"events": 0, "messages": 0, "tokens": 0, "kept_tokens": None, "commit_at": None}
"""What a session's log and its live part grow by when nothing was said."""


class SessionTotals(NamedTuple):
    """How a session's log stands, by its locked row."""

    last_seq: int
    heard_at: int | None
    live: Unarchived


_PLAIN = {"chat_type": "private", "title": None, "timezone": None, "when_busy": None, "metadata": "{}"}
"""A session that nobody has said anything about yet."""


def open_session(
    owner: Owner, key: str, new_id: str, now: int, *, policy: AutoCommitPolicy | None = None
) -> Transaction[Session]:
    """The session of that key under its row lock; made if it is missing, with this policy."""
    named = named_by(owner, key)
    found = yield queries.sessions.lock_by_key, named
    if not found:
        yield from make_session(named, {**_PLAIN, **policy_columns(policy)}, new_id, now)
        found = yield queries.sessions.lock_by_key, named
    return rows.session(found[0])


def open_found(
    lookup: Lookup, key: str, new_id: str, now: int, *, policy: AutoCommitPolicy | None = None
) -> Transaction[Session]:
    """The session that a caller means by a key, under its row lock; made if it is missing, with this policy.

    One that is there costs one statement.
    """
    found = yield from lock_found(lookup, key)
    return found or (yield from open_session(lookup.owner, key, new_id, now, policy=policy))


def lock_found(lookup: Lookup, key: str) -> Transaction[Session | None]:
    """As `open_found`; None if it is missing. `AmbiguousKey` when several users of the account have one."""
    if lookup.first == lookup.owner:
        found = yield queries.sessions.lock_by_key, named_by(lookup.first, key)
        if found or not lookup.whole_account:
            return rows.session(found[0]) if found else None
    found = yield queries.sessions.lock_in_account, named_by(lookup.first, key)
    if not found:
        yield from _refuse_several(lookup, key)
    return rows.session(found[0]) if found else None


def open_shared(
    lookup: Lookup, key: str, new_id: str, common_id: str, now: int, *, policy: AutoCommitPolicy | None = None
) -> Transaction[tuple[Session, Session]]:
    """In unified mode, the common session of a chat's owner and the chat; the common row is locked first."""
    if lookup.first == lookup.owner:
        shared = yield queries.sessions.lock_by_key, named_by(lookup.first, unified.KEY)
        chat = (yield queries.sessions.lock_by_key, named_by(lookup.first, key)) if shared else []
        if chat:
            return rows.session(shared[0]), rows.session(chat[0])
    owner = yield from _owner_found(lookup, key)
    common = yield from open_session(owner, unified.KEY, common_id, now, policy=policy)
    return common, (yield from open_session(owner, key, new_id, now, policy=policy))


def _owner_found(lookup: Lookup, key: str) -> Transaction[Owner]:
    """Whose session a caller means by a key, before any row is locked."""
    if not lookup.whole_account:
        return lookup.owner
    found = yield queries.sessions.in_account, named_by(lookup.first, key)
    if not found:
        yield from _refuse_several(lookup, key)
    return rows.session(found[0]).owner if found else lookup.owner


def _refuse_several(lookup: Lookup, key: str) -> Transaction[None]:
    others = yield queries.directory.users_of, {"account": lookup.first.account, "key": key}
    if len(others) > 1:
        raise AmbiguousKey(key, [row["user_id"] for row in others])


def named_by(owner: Owner, key: str) -> Params:
    return {"account": owner.account, "user_id": owner.user, "key": key}


def make_session(named: Params, columns: Params, new_id: str, now: int) -> Transaction[bool]:
    """False when somebody else has made the one of that key."""
    entered = yield queries.directory.enter, {**named, "session_id": new_id, "now": now}
    if entered:
        yield queries.sessions.create, {**named, **columns, "id": new_id, "now": now}
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


def common_session_of(chat_id: str) -> Transaction[Session | None]:
    """The session that a chat shares with the others of its owner, under its row lock; None for itself."""
    found = yield queries.sessions.by_id, {"id": chat_id}
    if not found or found[0]["key"] == unified.KEY:
        return None
    named = {"account": found[0]["account"], "user_id": found[0]["user_id"], "key": unified.KEY}
    locked = yield queries.sessions.lock_by_key, named
    return rows.session(locked[0]) if locked else None


def newest_chat(common: Session) -> Transaction[Session | None]:
    """Of the chats that share a common session, the one with the newest user message, under its row lock."""
    found = yield queries.sessions.newest_chat, {"id": common.id}
    return (yield from lock_session(found[0]["id"])) if found else None


def append_events(session: Session, facts: Sequence[Event]) -> Transaction[Sequence[Event]]:
    """Facts from outside any turn, into the log of a locked session."""
    facts = numbered(facts, session.last_seq)
    yield queries.events.append, [rows.event_params(event) for event in facts]
    now = max((fact.at for fact in facts), default=0)
    grown = yield from growth(session.id, totals_of(session), facts, now)
    yield queries.sessions.grow, {"id": session.id, **grown}
    return facts


def share_events(common: Session, chat: Session, facts: Sequence[Event]) -> Transaction[Sequence[Event]]:
    """What was written to a chat from outside, for the conversation that it shares with the others."""
    told = [replace(fact, session_id=common.id, via_id=chat.id) for fact in facts]
    return (yield from append_events(common, told))


def totals_of(session: Session) -> SessionTotals:
    return SessionTotals(session.last_seq, session.last_message_at, session.live)


_LEFT_ALONE = Unarchived()
"""Nothing of it is asked where no policy looks at it and nothing is kept."""


def totals_in(row: Row) -> SessionTotals:
    heard_at, last_seq, *live = row
    watched = row["auto_commit_policy"] is not None or row["keep_recent_count"]
    return SessionTotals(last_seq, heard_at, rows.live(live) if watched else _LEFT_ALONE)


def growth(
    session_id: str, standing: SessionTotals, facts: Sequence[Event], now: int, *, opened: str | None = None
) -> Transaction[dict[str, Value]]:
    """What these facts, which are in the log, add to the live part, and the moment they arm.

    `opened`: the words that a turn began with, which are counted as it ends.
    """
    said = [estimate(fact.content) for fact in facts if fact.role and fact.content]
    if opened is not None:
        said.append(estimate(opened))
    live = standing.live
    kept = commit_at = None
    if said and live.keep_recent_count:
        kept = yield from kept_tokens(session_id, after=live.archived_seq, keep=live.keep_recent_count)
    if said and live.policy is not None:
        messages, tokens = live.messages + len(said), live.tokens + sum(said)
        grown = replace(live, messages=messages, tokens=tokens, kept_tokens=kept or 0)
        commit_at = next_look(grown, standing.heard_at, now)
    return {
        "events": len(facts),
        "messages": len(said),
        "tokens": sum(said),
        "kept_tokens": kept,
        "commit_at": commit_at,
    }


def kept_tokens(session_id: str, *, after: int, keep: int) -> Transaction[int]:
    """Of the newest messages of the live part, as many as are kept."""
    found = yield queries.events.newest_tokens, {"session_id": session_id, "after": after, "keep": keep}
    return sum(row["tokens"] for row in found)


def numbered(facts: Sequence[Event], last_seq: int) -> list[Event]:
    return [replace(fact, seq=last_seq + place) for place, fact in enumerate(facts, 1)]
