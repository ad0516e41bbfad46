"""Archiving ("commit" in the API): moves settled messages of a session into an archive.

It is one transaction under the session's row lock, which every append takes too. An archive is a range of the
log, and the log is never rewritten: at no time is a message in neither part, or in both.

Invariants
  - the archives of a session and its unarchived part follow one another without gap or overlap
  - no archive ends within a turn, or between a question and its answer
  - an archive and the task that learns from it are created together
"""

from dataclasses import replace
from typing import TypeAlias

from segue.kernel.transactions import session_log
from segue.kernel.transactions.result import Name, Result
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


@positional
class CommitSkipped:
    reason: str


CommitOutcome: TypeAlias = ArchiveMade | CommitSkipped
Outcome: TypeAlias = Result[CommitOutcome]


def commit(session_id: str, now: int, *, task_id: str, keep: int | None = None) -> Transaction[Outcome]:
    """Archive on request. `keep`: how many messages stay; None for the session's own setting."""
    session = yield from session_log.lock_session(session_id)
    if keep is None:
        keep = session.live.keep_recent_count
    done = yield from _archive(session, now, task_id=task_id, keep=keep, reason="manual")
    return replace(done, wake=frozenset({Name.ARCHIVIST}))


def look(session_id: str, now: int, *, task_id: str, idle_enabled: bool) -> Transaction[Outcome | None]:
    """Check a session whose `commit_at` has come: archive it, or set its next check.

    None: it is not archived now, or it was deleted, or another archivist checked it.
    """
    found = yield queries.sessions.lock, {"id": session_id}
    if not found:
        return None
    session = rows.session(found[0])
    if session.live.commit_at is None or session.live.commit_at > now:  # another archivist was here
        return None
    session = yield from session_log.counted(session, now)
    match verdict(session.live, session.last_message_at, now, idle_enabled=idle_enabled):
        case CommitNow(reason):
            keep = session.live.keep_recent_count
            done = yield from _archive(session, now, task_id=task_id, keep=keep, reason=reason)
            if isinstance(done.value, CommitSkipped):
                yield queries.sessions.arm_commit, {"id": session_id, "commit_at": None}
            return done
        case CommitLater(at):
            yield queries.sessions.arm_commit, {"id": session_id, "commit_at": at}
        case NeverCommit():
            yield queries.sessions.arm_commit, {"id": session_id, "commit_at": None}
    return None


def failed(session_id: str, error: str, now: int) -> Transaction[None]:
    """Record that archiving failed, and set the next check after a pause that doubles."""
    session = yield from session_log.lock_session(session_id)
    again = now + pause_ms(session.live.failures + 1)
    yield queries.sessions.commit_failed, {"id": session_id, "error": error, "now": now, "commit_at": again}


def _archive(session: Session, now: int, *, task_id: str, keep: int, reason: str) -> Transaction[Outcome]:
    unsettled = yield queries.turns.unsettled_in, {"session_id": session.id}
    unarchived = session.live
    found = yield queries.events.marks_after, {"session_id": session.id, "after": unarchived.archived_seq}
    marks = [_mark(row) for row in found]
    split_at = cut(marks, keep, {row["id"] for row in unsettled})
    archived = [mark for mark in marks[:split_at] if mark.role is not None]
    if not archived:
        return (yield from _nothing(session, task_id, empty=not any(mark.role for mark in marks)))
    last_seq = marks[split_at].seq - 1 if split_at < len(marks) else session.last_seq
    columns: Params = {
        "session_id": session.id,
        "n": unarchived.archives + 1,
        "first_seq": unarchived.archived_seq + 1,
        "last_seq": last_seq,
        "message_count": len(archived),
        "tokens": sum(mark.tokens for mark in archived),
        "reason": reason,
        "task_id": task_id,
        "now": now,
    }
    yield queries.archives.create, columns
    yield queries.tasks.create, _task(session, task_id, unarchived.archives + 1, now)
    uncounted = {row["id"] for row in unsettled if row["state"] == "running" and row["attempt"] == 1}
    remaining = [mark for mark in marks[split_at:] if mark.role is not None and not _opening(mark, uncounted)]
    newest = remaining[-unarchived.keep_recent_count :] if unarchived.keep_recent_count else []
    unarchived = replace(
        unarchived,
        archived_seq=last_seq,
        archives=unarchived.archives + 1,
        messages=len(remaining),
        tokens=sum(mark.tokens for mark in remaining),
        kept_tokens=sum(mark.tokens for mark in newest),
        commit_at=None,
    )
    yield (
        queries.sessions.archive,
        {
            "id": session.id,
            "archived_seq": unarchived.archived_seq,
            "archives": unarchived.archives,
            "messages": unarchived.messages,
            "tokens": unarchived.tokens,
            "kept_tokens": unarchived.kept_tokens,
            "auto_at": None if reason == "manual" else now,
        },
    )
    sync = Event(session_id=session.id, seq=0, type="session_sync", at=now)
    events = yield from session_log.append_events(replace(session, live=unarchived), [sync])
    made = ArchiveMade(session_id=session.id, task_id=task_id, archive_n=unarchived.archives)
    return Result(value=made, events=events)


def _nothing(session: Session, task_id: str, *, empty: bool) -> Transaction[Outcome]:
    """Nothing to archive, unless this is a retry of a call that has archived it."""
    found = yield queries.tasks.by_id, {"id": task_id}
    if found:
        made = ArchiveMade(session_id=session.id, task_id=task_id, archive_n=found[0]["archive_n"])
        return Result(value=made)
    return Result(value=CommitSkipped("no_messages" if empty else "all_within_keep_window"))


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
    """Whether it is the message that opened a running turn: that is counted when the turn ends."""
    return mark.type == "stream_start" and mark.turn_id in turns
