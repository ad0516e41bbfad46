"""Reads that several commands share."""

from segue.kernel import Kernel
from segue.model import Session
from segue.transcript import Message, message_of


async def newest_messages(kernel: Kernel, session: Session, limit: int) -> list[Message]:
    """In the order they were said, the newest last."""
    # Twice as many, because the marks of where turns begin and end are among them.
    events = await kernel.store.newest_events(session.id, before=session.last_seq + 1, limit=2 * limit)
    places = [event.seq for event in events if message_of(event)][-limit:]
    if not places:
        return []
    told = await kernel.store.messages(session.id, after=places[0] - 1, limit=limit)
    return [message for event in told if (message := message_of(event))]
