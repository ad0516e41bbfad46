"""Sessions as wholes: what is written to one from outside, how one is changed, how one goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from segue import lane
from segue.errors import NotFound, SessionHasJobs
from segue.model import Event, Owner, Session
from segue.store import rows, sql
from segue.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Opened:
    session: Session
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Messages that were stored, and how their session stands after it."""

    added: int
    message_count: int
    pending_tokens: int
    events: Sequence[Event] = ()


def open_new(owner: Owner, key: str, now: int, *, new_id: str, **fields: object) -> Transaction[Opened]:
    """The session of that key; made of these fields if it is missing."""
    named = {"account": owner.account, "user_id": owner.user, "key": key}
    made = yield sql.sessions.create, {**named, **_columns(fields), "id": new_id, "now": now}
    found = yield sql.sessions.lock_by_key, named
    session = rows.session(found[0])
    # Driven again after a commit whose answer was lost, it finds what it made itself.
    return Opened(session, bool(made) or session.id == new_id)


def write(
    owner: Owner, key: str, words: Sequence[tuple[str, str]], now: int, *, new_id: str
) -> Transaction[Written]:
    """Messages, each a role and a text, stored without a turn. They are a sign of life, and the next turn
    sees them."""
    session = yield from lane.open_session(owner, key, new_id, now)
    title = next((text for role, text in words if role == "user"), None)
    yield from lane.hear(session, now, title=title)
    said = [
        Event(session_id=session.id, seq=0, type="message", at=now, role=role, content=text)
        for role, text in words
    ]
    events = yield from lane.post(session, said)
    counted = yield sql.sessions.overview, {"id": session.id}
    overview = rows.overview(counted[0])
    return Written(
        added=len(events),
        message_count=overview.message_count,
        pending_tokens=overview.pending_tokens,
        events=events,
    )


def change(session: Session, **fields: object) -> Transaction[Session]:
    """Fields of a session that people may set: title, timezone, when_busy, metadata."""
    there = yield from lane.lock_session(session.id)
    changed = replace(there, **fields)  # type: ignore[arg-type]
    columns = {
        "id": changed.id,
        "title": changed.title,
        "timezone": changed.timezone,
        "when_busy": changed.when_busy,
        "metadata": rows.to_text(changed.metadata) or "{}",
    }
    yield sql.sessions.change, columns
    return changed


def delete(owner: Owner, key: str, *, with_jobs: bool) -> Transaction[str]:
    """All of a session. Its own cron jobs, paused ones too, want to be named first.

    A turn that runs in it is over with it: its worker's next renewal misses, and so does whatever it
    would still write.
    """
    named = {"account": owner.account, "user_id": owner.user, "key": key}
    found = yield sql.sessions.lock_by_key, named
    if not found:
        raise NotFound(f"there is no session {key}")
    session_id: str = found[0]["id"]
    blocking = yield sql.jobs.blocking, {"session_id": session_id}
    if blocking and not with_jobs:
        raise SessionHasJobs(
            f"{key} has {len(blocking)} jobs; delete them with it, or remove them first",
            [rows.job(row) for row in blocking],
        )
    yield sql.events.remove_of_session, {"session_id": session_id}
    yield sql.sessions.remove, {"id": session_id}
    return session_id


def _columns(fields: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "chat_type": fields.get("chat_type", "private"),
        "title": fields.get("title"),
        "timezone": fields.get("timezone"),
        "when_busy": fields.get("when_busy"),
        "metadata": rows.to_text(fields.get("metadata")) or "{}",
    }
