"""Indexing messages: adds messages of a session's log to the full-text index.

Invariants
  - a message and the number up to which its session is indexed are written in one transaction
  - of several indexers, one adds a message
"""

from collections.abc import Sequence
from typing import Any

from segue.memory.message_terms import index_terms, position
from segue.model.records import Owner
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Row, Transaction


@record
class Unindexed:
    """A session with messages that are not indexed, and those of them that are indexed next."""

    session_id: str
    owner: Owner
    after: int
    """The number up to which its log is indexed."""
    messages: Sequence[Row]
    writes: int
    """How many writes to its log were counted before the messages were read; 0 if more messages are left."""


def index(session: Unindexed) -> Transaction[int]:
    """Add the messages to the index. Returns how many; 0 if another indexer has done it."""
    claim: Params = {
        "session_id": session.session_id,
        "after": session.after,
        "until": session.messages[-1]["seq"] if session.messages else session.after,
        "counted": session.writes,
    }
    if not (yield queries.message_index.claim, claim):
        return 0
    to_add = [_entry(session, message) for message in session.messages]
    while to_add:
        added = {row["seq"] for row in (yield queries.message_index.add, [*to_add])}
        # A position is taken if another session has a message of the same moment with the same number.
        to_add = [
            {**entry, "position": entry["position"] + 1} for entry in to_add if entry["seq"] not in added
        ]
    return len(session.messages)


def _entry(session: Unindexed, message: Row) -> dict[str, Any]:
    terms = index_terms(message["content"] or "", session.owner, session.session_id)
    return {
        "position": position(message["at"], session.session_id, message["seq"]),
        "session_id": session.session_id,
        "seq": message["seq"],
        "terms": " ".join(terms),
    }
