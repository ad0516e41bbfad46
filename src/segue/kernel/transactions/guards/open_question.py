"""Open question: an agent has asked its user, and the session's scheduled turns wait for the answer.

Invariants
  - a session that waits starts no scheduled turn before its user's next turn, or before the time is over
  - the answer is the user's next turn, each time that it is tried
"""

from collections.abc import Mapping
from typing import Any

from segue.model.closure import OpenQuestion
from segue.model.records import Session, Turn
from segue.store import queries
from segue.store.database import Row, Transaction
from segue.store.rows import core as rows


def ask(session_id: str, question: OpenQuestion) -> Transaction[None]:
    """Hold the scheduled turns of a locked session, those that are queued too."""
    yield queries.agent_states.ask, {"session_id": session_id, "waiting": question.stored}
    yield queries.sessions.wait, {"id": session_id, "until": question.until}
    yield queries.turns.hold_scheduled, {"session_id": session_id, "until": question.until}


def answered_by(state: Row, session: Session, turn: Turn, now: int) -> Mapping[str, Any] | None:
    """The question that a starting turn answers; None: it answers none.

    A user's turn is the answer while the session waits, and when it is tried again. One that replaces
    another turn is not: it ends the waiting, and the question is forgotten.
    """
    if state["answered_by"] is None:
        answers = not turn.scheduled and turn.replaces is None and session.waits_at(now)
    else:
        answers = state["answered_by"] == turn.id
    return rows.from_text(state["waiting"]) if answers else None


def end(turn: Turn, until: int, *, answered: bool) -> Transaction[None]:
    """A turn starts: the user's, which is the answer, or a scheduled one after the time for it has passed."""
    session_id = turn.session_id
    yield queries.sessions.wait, {"id": session_id, "until": None}
    yield queries.turns.let_go, {"session_id": session_id, "until": until}
    if not answered:
        yield queries.agent_states.forget, {"session_id": session_id}
        return
    yield queries.agent_states.answer, {"session_id": session_id, "turn_id": turn.id}
    yield queries.turns.put_first, {"id": turn.id}
