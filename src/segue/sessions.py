"""Sessions as wholes: what is written to one from outside, how one is changed, how one goes."""

from collections.abc import Sequence
from dataclasses import replace

from segue import lane
from segue.errors import NotFound, SessionHasJobs
from segue.model import Event, Owner, Session
from segue.store import rows, sql
from segue.store.database import Transaction


def write(
    owner: Owner, key: str, role: str, content: str, now: int, *, new_id: str
) -> Transaction[Sequence[Event]]:
    """A message stored without a turn. It is a sign of life, and the next turn sees it."""
    session = yield from lane.open_session(owner, key, new_id, now)
    yield from lane.hear(session, now, title=content if role == "user" else None)
    said = Event(session_id=session.id, seq=0, type="message", at=now, role=role, content=content)
    return (yield from lane.post(session, [said]))


def change(session: Session, **fields: object) -> Transaction[Session]:
    """Fields of a session that people may set: title, timezone, when_busy, metadata."""
    there = yield from lane.lock_session(session.id)
    changed = replace(there, **fields)  # type: ignore[arg-type]
    yield (
        sql.sessions.change,
        {
            "id": changed.id,
            "title": changed.title,
            "timezone": changed.timezone,
            "when_busy": changed.when_busy,
            "metadata": rows.to_text(changed.metadata) or "{}",
        },
    )
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
