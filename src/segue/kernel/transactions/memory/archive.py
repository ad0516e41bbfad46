"""Archiving ("commit" in the API): moves settled messages of a session into an archive.

It is one transaction under the session's row lock, which every append takes too. An archive is a range of the
log, and the log is never rewritten: at no time is a message in neither part, or in both.

The counts of unarchived messages, by which a policy decides, are updated as the log grows, so that no turn
has to read the log. They are checked against the log before a session is archived, and when it is shown.

Invariants
  - the archives of a session and its unarchived part follow one another without gap or overlap
  - no archive ends within a turn, or between a question and its answer
  - an archive and the task that learns from it are created together
"""

from dataclasses import replace
from typing import TypeAlias

from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.result import Name, Result
from segue.memory.split import ArchiveMark, cut
from segue.model.auto_commit import CommitLater, CommitNow, NeverCommit, next_look, pause_ms, verdict
from segue.model.records import Event, Session
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Row, Rows, Transaction
from segue.store.rows import core as rows
from segue.store.store import Store

MOST_READ = 1_000
"""The most unarchived events that are read to check the counts. If there are more, only impossible counts are
noticed here; the next archiving and `segue doctor --repair` correct the rest."""


@record
class ArchiveMade:
    session_id: str
    task_id: str
    archive_n: int


@positional
class CommitSkipped:
    reason: str


CommitOutcome: TypeAlias = ArchiveMade | CommitSkipped


def commit(
    session_id: str, now: int, *, task_id: str, keep: int | None = None
) -> Transaction[Result[CommitOutcome]]:
    """Archive on request. `keep`: how many messages stay; None for the session's own setting."""
    session = yield from session_log.lock_session(session_id)
    if keep is None:
        keep = session.live.keep_recent_count
    done = yield from _archive(session, now, task_id=task_id, keep=keep, reason="manual")
    return replace(done, wake=frozenset({Name.ARCHIVIST}))


def look(
    session_id: str, now: int, *, task_id: str, idle_enabled: bool
) -> Transaction[Result[CommitOutcome] | None]:
    """Check a session whose `commit_at` has come: archive it, or set its next check.

    None: it is not archived now, or it was deleted, or another archivist checked it.
    """
    found = yield queries.sessions.lock, {"id": session_id}
    if not found:
        return None
    session = rows.session(found[0])
    if session.live.commit_at is None or session.live.commit_at > now:  # another archivist was here
        return None
    session = yield from counted(session, now)
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


def _archive(
    session: Session, now: int, *, task_id: str, keep: int, reason: str
) -> Transaction[Result[CommitOutcome]]:
    unsettled = yield queries.turns.unsettled_in, {"session_id": session.id}
    unarchived = session.live
    found = yield queries.events.marks_after, {"session_id": session.id, "after": unarchived.archived_seq}
    marks = [_mark(row) for row in found]
    shared = yield from _unsettled_in_common(session)
    split_at = cut(marks, keep, {row["id"] for row in (*unsettled, *shared)})
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
    events = yield from session_log.append_events(replace(session, live=unarchived), [sync], now)
    made = ArchiveMade(session_id=session.id, task_id=task_id, archive_n=unarchived.archives)
    return Result(value=made, events=events)


def _unsettled_in_common(session: Session) -> Transaction[Rows]:
    """In unified mode the turns of a chat run in the common session, and their events are copied into it."""
    found = yield queries.sessions.by_key, session_log.key_params(session.owner, unified.KEY)
    if not found or not unified.is_chat(session.key):
        return ()
    return (yield queries.turns.unsettled_in, {"session_id": found[0]["id"]})


def _nothing(session: Session, task_id: str, *, empty: bool) -> Transaction[Result[CommitOutcome]]:
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


async def counts_are_right(store: Store, session: Session) -> bool:
    """Whether the counts of a loaded session agree with its log."""
    unarchived = session.live
    if not _possible(session) or session.last_seq - unarchived.archived_seq > MOST_READ:
        return _possible(session)
    return await store.live_part(session) == (unarchived.messages, unarchived.tokens)


def _possible(session: Session) -> bool:
    """Whether any log could have these counts."""
    unarchived = session.live
    return (
        0 <= unarchived.messages <= session.last_seq - unarchived.archived_seq
        and 0 <= unarchived.kept_tokens <= unarchived.tokens
        and (unarchived.messages > 0) == (unarchived.tokens > 0)
    )


def recount(session_id: str, now: int) -> Transaction[bool]:
    """Count again; True if the stored counts were wrong."""
    session = yield from session_log.lock_session(session_id)
    return (yield from counted(session, now)) is not session


def counted(session: Session, now: int) -> Transaction[Session]:
    """A locked session with the counts of its log; they are stored if they differ."""
    unarchived = session.live
    found = yield queries.events.live_part, {"id": session.id, "after": unarchived.archived_seq}
    kept, keep = 0, unarchived.keep_recent_count
    if keep:
        kept = yield from session_log.kept_tokens(session.id, after=unarchived.archived_seq, keep=keep)
    messages, tokens = found[0]["messages"], found[0]["tokens"]
    if (messages, tokens, kept) == (unarchived.messages, unarchived.tokens, unarchived.kept_tokens):
        return session
    unarchived = replace(unarchived, messages=messages, tokens=tokens, kept_tokens=kept)
    soonest = next_look(unarchived, session.last_message_at, now)
    if soonest is not None and (unarchived.commit_at is None or soonest < unarchived.commit_at):
        unarchived = replace(unarchived, commit_at=soonest)
    yield (
        queries.sessions.recount,
        {
            "id": session.id,
            "messages": messages,
            "tokens": tokens,
            "kept_tokens": kept,
            "commit_at": unarchived.commit_at,
        },
    )
    return replace(session, live=unarchived)
