"""Rows that this version cannot read, because a newer one wrote them: they are put back for a while.

During an upgrade old and new workers share a database. A turn or a delivery that an old worker cannot read
must neither end that worker nor hold up the others; a new worker may take it.
"""

from collections.abc import Container, Sequence

from segue.model.records import Session
from segue.store import queries
from segue.store.database import Row, Rows, Transaction

PAUSE_MS = 10_000
"""How long they wait until they are tried again."""


def put_back_lanes(
    leased: Rows,
    sessions: Sequence[Session],
    started: Rows,
    turns: Container[str],
    holder: str,
    now: int,
) -> Transaction[list[Session]]:
    """Release the lanes whose session or turn was not read, and postpone their turns. Returns the others.

    `sessions`: what was read of `leased`. `turns`: the ids of the sessions whose turn was read of `started`.
    """
    unread = [row for row in started if row["session_id"] not in turns]
    yield queries.turns.delay, [{"id": row["id"], "fence": row["fence"]} for row in unread]
    without_turn = {row["session_id"] for row in unread}
    usable = {session.id: session for session in sessions if session.id not in without_turn}
    lanes = [row for row in leased if row["id"] not in usable]
    until = now + PAUSE_MS
    yield queries.turns.postpone_queued, [{"session_id": row["id"], "not_before": until} for row in lanes]
    yield (
        queries.sessions.delay,
        [{"id": row["id"], "holder": holder, "fence": row["fence"], "ready_at": until} for row in lanes],
    )
    return [*usable.values()]


def put_back_delivery(row: Row, now: int) -> Transaction[None]:
    put_back = {"id": row["id"], "fence": row["fence"], "not_before": now + PAUSE_MS}
    yield queries.deliveries.put_back, put_back
