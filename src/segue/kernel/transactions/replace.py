"""Replacement of turns: an edited message, or an answer that is tried again, is a new turn in place of one.

The log is never rewritten. A turn is replaced from the moment when the other one starts: until then it
counts, and it goes on to count if the other one is cancelled before its start.

Invariants
  - a turn is replaced at most once, and replaces at most one
  - a replaced turn is in no summary that is written after its replacement was admitted
"""

from segue.errors import CannotReplace, NotFound, TurnArchived, TurnNotEnded, TurnReplaced, TurnScheduled
from segue.kernel.transactions.unified import Route
from segue.model.records import Turn
from segue.model.states import TurnState
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows


def check_replaceable(route: Route, turn_id: str, *, by: str) -> Transaction[None]:
    """Raise `NotFound` or `CannotReplace` if the turn `by` cannot replace a turn of this locked route."""
    found = yield queries.turns.by_id, {"id": turn_id}
    turn = rows.turn(found[0]) if found else None
    if turn is None or (turn.session_id, turn.via_id) != (route.lane.id, route.chat.id):
        raise NotFound(f"there is no turn {turn_id} in {route.chat.key}; replace one of this session")
    _check_kind(turn)
    other = yield (
        queries.replaced_turns.replacing,
        {"session_id": turn.session_id, "turn_id": turn.id, "except": by},
    )
    if other:
        raise TurnReplaced(f"turn {turn_id} is replaced by turn {other[0]['id']}; replace that one")
    start = yield queries.events.start_of_turn, {"session_id": turn.session_id, "turn_id": turn.id}
    if start and start[0]["seq"] <= route.lane.live.archived_seq:
        raise TurnArchived(
            f"turn {turn_id} is archived, and the summary of its archive is part of what the model is given; "
            "send the message as a new one"
        )


def _check_kind(turn: Turn) -> None:
    if turn.source is not None:
        raise TurnScheduled(
            f"turn {turn.id} was started by the job {turn.source.label}; only a message of a user can be "
            "replaced. Change the job, or send a new message"
        )
    if turn.joined_into is not None:
        raise CannotReplace(
            f"the message of turn {turn.id} was answered in turn {turn.joined_into}; replace that one"
        )
    if turn.state in (TurnState.QUEUED, TurnState.RUNNING):
        verb = "cancel it" if turn.state is TurnState.QUEUED else "stop it, or wait for its end"
        raise TurnNotEnded(f"turn {turn.id} is {turn.state}; {verb}, and then replace it")


def mark_replaced(turns: list[Turn]) -> Transaction[None]:
    """Record what these turns replace, which start now for the first time."""
    for turn in turns:
        yield (
            queries.replaced_turns.add,
            {"turn_id": turn.replaces, "replaced_by": turn.id, "session_id": turn.session_id},
        )
