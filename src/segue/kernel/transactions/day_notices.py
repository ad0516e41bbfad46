"""Day notices: tells a session that a calendar ends, once.

Invariant: the note that a session was told and the delivery are one transaction.
"""

from segue.kernel.transactions import session_log
from segue.kernel.transactions.deliveries import delivery_params
from segue.model.records import Source
from segue.store import queries
from segue.store.database import Transaction


def tell(
    session_id: str, days: str, notice: str, source: Source, now: int, *, delivery_id: str
) -> Transaction[bool]:
    """Send what a session is to know about the end of a day set. False: it was told before."""
    session = yield from session_log.lock_session(session_id)
    told = yield queries.day_sets.tell, {"session_id": session_id, "name": days, "notice": notice}
    if told:
        yield queries.deliveries.create, delivery_params(delivery_id, session, notice, source, now)
    return bool(told)
