"""The outbox: what the end of a turn leaves for a channel, in the transaction that ends it.

A conversation's answers go out through its channel, where one is registered; for the others, stored is sent.
In unified mode it is the channel of the chat that the turn came by.
A legacy job's answer is said in the session that the job names, as a message of that session.
"""

from dataclasses import dataclass

from segue import lane
from segue.model import Owner, Session, Turn
from segue.states import JobKind
from segue.store import rows, sql
from segue.store.database import Params, Transaction


@dataclass(frozen=True, slots=True)
class Outbox:
    """For a session that speaks through one of these channels, its closure goes out as this delivery."""

    channels: frozenset[str]
    delivery_id: str


def put(outbox: Outbox, session: Session, turn: Turn, words: str, now: int) -> Transaction[bool]:
    """The words, on their way to people; False where they need no way."""
    if turn.source is not None and turn.source.kind == JobKind.LEGACY:
        to = turn.brief.to if turn.brief else None
        return (yield from _say(outbox, session.owner, to, turn, words, now)) if to else False
    if turn.via_id != session.id:
        found = yield sql.sessions.by_id, {"id": turn.via_id}
        if not found:
            return False
        session = rows.session(found[0])
    if session.channel not in outbox.channels:
        return False
    yield sql.deliveries.create, _delivery(outbox, session, turn, words, now)
    return True


def _say(outbox: Outbox, owner: Owner, key: str, turn: Turn, words: str, now: int) -> Transaction[bool]:
    """Not as the end of a turn but as a message: it joins that session's transcript when it is sent."""
    there = yield from lane.open_session(owner, key, outbox.delivery_id, now)
    yield sql.deliveries.create, {**_delivery(outbox, there, turn, words, now), "turn_id": None}
    return True


def _delivery(outbox: Outbox, session: Session, turn: Turn, words: str, now: int) -> Params:
    return {
        "id": outbox.delivery_id,
        "session_id": session.id,
        "run_id": None,
        "turn_id": turn.id,
        "channel": session.channel,
        "chat_id": session.chat_id,
        "content": words,
        "source": rows.source_text(turn.source),
        "not_before": now,
        "now": now,
    }
