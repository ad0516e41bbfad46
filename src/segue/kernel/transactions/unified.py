"""Unified mode: the chats of a user share one conversation, `unified:default`.

A turn then has two sessions. It *runs in* the common one, which has the lane, the memory and the log; it came
*via* a chat, by which it is delivered. What a turn leaves in the common log is copied into the chat's, under
the chat's own numbers: each log reads as a whole, the chat's with what happened in it and the common one with
everything. Copies arm no commit: what was said is remembered once, in the common session.

Invariants
  - the common session's row is locked before a chat's
  - where a turn runs is decided when it is admitted: when the mode is changed, nothing moves
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
"""The common session, one for each user."""

APART = frozenset({"cron", "system"})
"""The channels of sessions in which nobody talks: their turns run where they are stored, in every mode."""

SHARED = frozenset({JobKind.CRON, JobKind.RECALL, JobKind.MESSAGE})
"""The jobs that act in conversations. Legacy and system ones stay in the sessions they are stored with."""


def mirror(
    facts: Sequence[Event], via_id: str | None, *, opened: str | None = None
) -> Transaction[list[Event]]:
    """The same facts in the log of the chat that their turn came by; none if it is there no more.

    `opened`: the words that a turn began with, which are counted as it ends.
    """
    if via_id is None or not facts:
        return []
    said = [fact.content for fact in facts if fact.role and fact.content and fact.type != "stream_start"]
    if opened is not None:
        said.append(opened)
    grown = {"events": len(facts), "messages": len(said), "tokens": sum(map(estimate, said))}
    numbered = yield queries.sessions.grow, {"id": via_id, **grown, "kept_tokens": None, "commit_at": None}
    if not numbered:
        return []
    first = int(numbered[0]["last_seq"]) - len(facts) + 1
    copies = [
        replace(fact, session_id=via_id, via_id=None, seq=first + place) for place, fact in enumerate(facts)
    ]
    yield queries.events.append, [rows.event_params(copy) for copy in copies]
    return copies
