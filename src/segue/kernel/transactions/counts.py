"""Counts of a session's unarchived messages: checked against the log, and recounted where they are wrong.

The counts are updated as the log grows, so that no turn has to read the log. They are checked when a session
is loaded to be shown, and before it is archived.
"""

from dataclasses import replace

from segue.kernel.transactions import session_log
from segue.model.auto_commit import next_look
from segue.model.records import Session
from segue.store import queries
from segue.store.database import Transaction
from segue.store.store import Store

MOST_READ = 1_000
"""The most unarchived events that are read to check the counts. If there are more, only impossible counts are
noticed here; the next archiving and `segue doctor --repair` correct the rest."""


async def are_right(store: Store, session: Session) -> bool:
    """Whether the counts of a loaded session agree with its log."""
    unarchived = session.live
    if not possible(session) or session.last_seq - unarchived.archived_seq > MOST_READ:
        return possible(session)
    return await store.live_part(session) == (unarchived.messages, unarchived.tokens)


def possible(session: Session) -> bool:
    """Whether any log could have these counts."""
    unarchived = session.live
    return (
        0 <= unarchived.messages <= session.last_seq - unarchived.archived_seq
        and 0 <= unarchived.kept_tokens <= unarchived.tokens
        and (unarchived.messages > 0) == (unarchived.tokens > 0)
    )


def rebuild(session_id: str, now: int) -> Transaction[bool]:
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
