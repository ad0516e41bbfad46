"""The outbox: what the end of a turn leaves for a channel, in the transaction that ends it.

A conversation's answers go out through its channel; where the readers look at the log, stored is sent.
In unified mode it is the channel of the chat that the turn came by.
A legacy job's answer is said in the session that the job names, as a message of that session.
"""

from segue import entries
from segue.model import Lookup, Session, Source, Turn
from segue.record import positional
from segue.states import JobKind
from segue.store import rows, sql
from segue.store.database import Params, Transaction


@positional
class Outbox:
    """A session's closure goes out as this delivery, unless the readers of its channel look at the log."""

    stored: frozenset[str] | None
    """Those channels; None stands for all. What is for another goes out, here or in another process."""
    delivery_id: str

    def delivers(self, channel: str) -> bool:
        return self.stored is not None and channel not in self.stored


def put(outbox: Outbox, session: Session, turn: Turn, words: str, now: int) -> Transaction[bool]:
    """The words, on their way to people; False where they need no way."""
    if turn.source is not None and turn.source.kind == JobKind.LEGACY:
        to = turn.brief.to if turn.brief else None
        if to is not None:
            there = yield from entries.open_session(session.owner, to, outbox.delivery_id, now)
            delivery = _delivery(outbox.delivery_id, there, words, turn.source, now)
            yield sql.deliveries.create, {**delivery, "turn_id": turn.id}
        return to is not None
    if turn.via_id != session.id:
        found = yield sql.sessions.by_id, {"id": turn.via_id}
        if not found:
            return False
        session = rows.session(found[0])
    if not outbox.delivers(session.channel):
        return False
    delivery = _delivery(outbox.delivery_id, session, words, turn.source, now)
    yield sql.deliveries.create, {**delivery, "turn_id": turn.id}
    return True


def say(
    lookup: Lookup, key: str, words: str, source: Source, now: int, *, delivery_id: str
) -> Transaction[None]:
    """Words from outside any turn of that session. They join its transcript when they are sent."""
    there = yield from entries.open_found(lookup, key, delivery_id, now)
    yield sql.deliveries.create, _delivery(delivery_id, there, words, source, now)


def _delivery(delivery_id: str, session: Session, words: str, source: Source | None, now: int) -> Params:
    return {
        "id": delivery_id,
        "session_id": session.id,
        "run_id": None,
        "turn_id": None,
        "channel": session.channel,
        "chat_id": session.chat_id,
        "content": words,
        "source": rows.source_text(source),
        "not_before": now,
        "now": now,
    }
