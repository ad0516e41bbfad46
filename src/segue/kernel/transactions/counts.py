"""The counts of a session's live part: counted again from the log where they are wrong.

They are kept as the log grows, so that no turn has to read the log. Whoever loads one session to show it, and
whoever decides whether to commit it, checks them first.
"""

from dataclasses import replace

from segue.kernel.transactions import session_log
from segue.model.auto_commit import next_look
from segue.model.records import Session
from segue.store import queries
from segue.store.database import Transaction
from segue.store.store import Store

MOST_READ = 1_000
"""Events of a live part that are read to check its counts. Of a longer one, only impossible counts are found
here; its next commit and `segue doctor --repair` find the rest."""


async def are_right(store: Store, session: Session) -> bool:
    """Whether a session was loaded with the counts that its log has."""
    live = session.live
    if not possible(session) or session.last_seq - live.archived_seq > MOST_READ:
        return possible(session)
    return await store.live_part(session) == (live.messages, live.tokens)


def possible(session: Session) -> bool:
    """Whether any log could have these counts."""
    live = session.live
    return (
        0 <= live.messages <= session.last_seq - live.archived_seq
        and 0 <= live.kept_tokens <= live.tokens
        and (live.messages > 0) == (live.tokens > 0)
    )


def rebuild(session_id: str, now: int) -> Transaction[bool]:
    """Count again. Whether they were wrong."""
    session = yield from session_log.lock_session(session_id)
    return (yield from counted(session, now)) is not session


def counted(session: Session, now: int) -> Transaction[Session]:
    """A locked session with the counts that its log has; they are stored if they were others."""
    live = session.live
    found = yield queries.events.live_part, {"id": session.id, "after": live.archived_seq}
    kept, keep = 0, live.keep_recent_count
    if keep:
        kept = yield from session_log.kept_tokens(session.id, after=live.archived_seq, keep=keep)
    messages, tokens = found[0]["messages"], found[0]["tokens"]
    if (messages, tokens, kept) == (live.messages, live.tokens, live.kept_tokens):
        return session
    live = replace(live, messages=messages, tokens=tokens, kept_tokens=kept)
    soonest = next_look(live, session.last_message_at, now)
    if soonest is not None and (live.commit_at is None or soonest < live.commit_at):
        live = replace(live, commit_at=soonest)
    yield (
        queries.sessions.recount,
        {
            "id": session.id,
            "messages": messages,
            "tokens": tokens,
            "kept_tokens": kept,
            "commit_at": live.commit_at,
        },
    )
    return replace(session, live=live)
