"""The commit: settled messages of a session become an archive. One transaction under the session's row lock.

Whoever appends takes the same lock, and an archive is a stretch of the log, which is never rewritten: there
is no moment at which a message could be in neither part, or in both.

Invariants
  - the archives of a session and its live part follow one another without gap or overlap
  - no archive ends within a turn, or between a question and its answer
  - an archive and the task that will learn from it are made together
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from segue.kernel.transactions import counts, session_log
from segue.memory.split import ArchiveMark, cut
from segue.model.auto_commit import CommitLater, CommitNow, NeverCommit, pause_ms, verdict
from segue.model.records import Event, Session
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Row, Transaction
from segue.store.rows import core as rows


@record
class ArchiveMade:
    session_id: str
    task_id: str
    archive_n: int
    events: Sequence[Event] = ()


@positional
class CommitSkipped:
    reason: str


Result: TypeAlias = ArchiveMade | CommitSkipped


def commit(session_id: str, now: int, *, task_id: str, keep: int | None = None) -> Transaction[Result]:
    """What somebody asked for. Without a number, as many messages are kept as the session says."""
    session = yield from session_log.lock_session(session_id)
    if keep is None:
        keep = session.live.keep_recent_count
    return (yield from _put_away(session, now, task_id=task_id, keep=keep, reason="manual"))


def look(session_id: str, now: int, *, task_id: str, idle_enabled: bool) -> Transaction[Result | None]:
    """The armed moment has come: commit, or arm the next one, by how the session stands now."""
    found = yield queries.sessions.lock, {"id": session_id}
    if not found:
        return None
    session = rows.session(found[0])
    if session.live.commit_at is None or session.live.commit_at > now:  # another archivist was here
        return None
    session = yield from counts.counted(session, now)
    match verdict(session.live, session.last_message_at, now, idle_enabled=idle_enabled):
        case CommitNow(reason):
            keep = session.live.keep_recent_count
            done = yield from _put_away(session, now, task_id=task_id, keep=keep, reason=reason)
            if isinstance(done, CommitSkipped):
                yield queries.sessions.arm_commit, {"id": session_id, "commit_at": None}
            return done
        case CommitLater(at):
            yield queries.sessions.arm_commit, {"id": session_id, "commit_at": at}
        case NeverCommit():
            yield queries.sessions.arm_commit, {"id": session_id, "commit_at": None}
    return None


def failed(session_id: str, error: str, now: int) -> Transaction[None]:
    """Kept where the session shows it, and tried again after a pause that doubles."""
    session = yield from session_log.lock_session(session_id)
    again = now + pause_ms(session.live.failures + 1)
    yield queries.sessions.commit_failed, {"id": session_id, "error": error, "now": now, "commit_at": again}


def _put_away(session: Session, now: int, *, task_id: str, keep: int, reason: str) -> Transaction[Result]:
    unsettled = yield queries.turns.unsettled_in, {"session_id": session.id}
    live = session.live
    found = yield queries.events.marks_after, {"session_id": session.id, "after": live.archived_seq}
    marks = [_mark(row) for row in found]
    place = cut(marks, keep, {row["id"] for row in unsettled})
    gone = [mark for mark in marks[:place] if mark.role is not None]
    if not gone:
        return (yield from _nothing(session, task_id, empty=not any(mark.role for mark in marks)))
    last_seq = marks[place].seq - 1 if place < len(marks) else session.last_seq
    archive: Params = {
        "session_id": session.id,
        "n": live.archives + 1,
        "first_seq": live.archived_seq + 1,
        "last_seq": last_seq,
        "message_count": len(gone),
        "tokens": sum(mark.tokens for mark in gone),
        "reason": reason,
        "task_id": task_id,
        "now": now,
    }
    yield queries.archives.create, archive
    yield queries.tasks.create, _task(session, task_id, live.archives + 1, now)
    uncounted = {row["id"] for row in unsettled if row["state"] == "running" and row["attempt"] == 1}
    left = [mark for mark in marks[place:] if mark.role is not None and not _opening(mark, uncounted)]
    newest = left[-live.keep_recent_count :] if live.keep_recent_count else []
    live = replace(
        live,
        archived_seq=last_seq,
        archives=live.archives + 1,
        messages=len(left),
        tokens=sum(mark.tokens for mark in left),
        kept_tokens=sum(mark.tokens for mark in newest),
        commit_at=None,
    )
    yield (
        queries.sessions.put_away,
        {
            "id": session.id,
            "archived_seq": live.archived_seq,
            "archives": live.archives,
            "messages": live.messages,
            "tokens": live.tokens,
            "kept_tokens": live.kept_tokens,
            "auto_at": None if reason == "manual" else now,
        },
    )
    sync = Event(session_id=session.id, seq=0, type="session_sync", at=now)
    events = yield from session_log.append_events(replace(session, live=live), [sync])
    return ArchiveMade(session_id=session.id, task_id=task_id, archive_n=live.archives, events=events)


def _nothing(session: Session, task_id: str, *, empty: bool) -> Transaction[Result]:
    """Nothing to put away, unless this very call did it, and is driven again."""
    found = yield queries.tasks.by_id, {"id": task_id}
    if found:
        return ArchiveMade(session_id=session.id, task_id=task_id, archive_n=found[0]["archive_n"])
    return CommitSkipped("no_messages" if empty else "all_within_keep_window")


def _task(session: Session, task_id: str, archive_n: int, now: int) -> dict[str, str | int]:
    return {
        "id": task_id,
        "account": session.owner.account,
        "user_id": session.owner.user,
        "session_id": session.id,
        "session_key": session.key,
        "archive_n": archive_n,
        "now": now,
    }


def _mark(row: Row) -> ArchiveMark:
    return ArchiveMark(
        row["seq"], row["type"], row["turn_id"], row["role"], bool(row["scheduled"]), row["tokens"]
    )


def _opening(mark: ArchiveMark, turns: set[str]) -> bool:
    """The words that a turn under way began with: they are counted when it ends."""
    return mark.type == "stream_start" and mark.turn_id in turns
