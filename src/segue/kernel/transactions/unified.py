"""Unified mode: the chats of a user share one conversation, `unified:default`.

A turn then has two sessions. It *runs in* the common one, which has the lane, the memory and the log; it came
*via* a chat, through which it is delivered. The turn's events in the common log are copied into the chat's
log, with the chat's own numbers: a chat's log shows what happened in that chat, the common log everything.
Copies never cause archiving: messages are archived once, in the common session.

Invariants
  - the common session's row is locked before a chat's
  - where a turn runs is decided when it is admitted: changing the mode moves no turn
"""

from collections.abc import Sequence
from dataclasses import replace

from segue.model.records import Event
from segue.model.states import JobKind
from segue.model.tokens import estimate
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

KEY = "unified:default"
"""Key of the common session; each user has one."""

APART = frozenset({"cron", "system"})
"""Channels of sessions without a user: their turns run in their own session, in every mode."""

SHARED = frozenset({JobKind.CRON, JobKind.RECALL, JobKind.MESSAGE})
"""Kinds of jobs whose turns run in the common session. Legacy and system jobs use their own session."""


def mirror(
    events: Sequence[Event], via_id: str | None, *, opened: str | None = None
) -> Transaction[list[Event]]:
    """Copy a turn's events into the log of the chat it came from; no copies if that chat was deleted.

    `opened`: the message that opened the turn; it is counted when the turn ends.
    """
    if via_id is None or not events:
        return []
    texts = [
        event.content for event in events if event.role and event.content and event.type != "stream_start"
    ]
    if opened is not None:
        texts.append(opened)
    grown = {"events": len(events), "messages": len(texts), "tokens": sum(map(estimate, texts))}
    numbered = yield queries.sessions.grow, {"id": via_id, **grown, "kept_tokens": None, "commit_at": None}
    if not numbered:
        return []
    first = int(numbered[0]["last_seq"]) - len(events) + 1
    copies = [
        replace(event, session_id=via_id, via_id=None, seq=first + index)
        for index, event in enumerate(events)
    ]
    yield queries.events.append, [rows.event_params(copy) for copy in copies]
    return copies
