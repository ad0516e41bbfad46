"""Counters: tables, and transactions that count right only if no other comes between their statements."""

from collections.abc import Sequence

from segue.errors import Conflict
from segue.store.database import Begin, Transaction
from segue.store.open import connect
from segue.store.queries import Query, translate

TABLES = [
    "CREATE TABLE counters (id TEXT PRIMARY KEY, key TEXT UNIQUE, n BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE marks (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, n BIGINT NOT NULL CHECK (n >= 0))",
]

begin = translate("counters.begin", "INSERT INTO counters (id, key) VALUES (:id, :key)")
lock = translate("sessions.lock", "SELECT id, n FROM counters WHERE id = :id /*pg FOR UPDATE */")
lock_by_key = translate(
    "sessions.lock_by_key", "SELECT id, n FROM counters WHERE key = :key /*pg FOR UPDATE */"
)
store = translate("sessions.store", "UPDATE counters SET n = :n WHERE id = :id")
add = translate("sessions.add", "UPDATE counters SET n = n + :by WHERE id = :id RETURNING n")
total = translate("counters.total", "SELECT CAST(SUM(n) AS BIGINT) AS n FROM counters")
mark = translate(
    "marks.create",
    """
    INSERT INTO marks (id, session_id, n)
    VALUES (:id, :session_id, :n)
    ON CONFLICT (id) DO NOTHING
    RETURNING id
    """,
)
marks = translate("marks.all", "SELECT id, n FROM marks ORDER BY id")
transaction_id = translate("sessions.xid", "SELECT CAST(pg_current_xact_id() AS TEXT) AS xid WHERE :id <> ''")


async def create(url: str, *sessions: str) -> None:
    def transaction() -> Transaction[None]:
        for text in TABLES:
            yield translate("tables.create", text), {}
        yield begin, [{"id": each, "key": f"key of {each}"} for each in sessions]

    database = await connect(url)
    try:
        await database.run(transaction)
    finally:
        await database.close()


def increment(session: str, mark_id: str) -> Begin[int]:
    """Read, then write the value plus one: two of these at once would count one."""

    def transaction() -> Transaction[int]:
        found = yield lock, {"id": session}
        return (yield from _count(session, mark_id, found[0]["n"]))

    return transaction


def increment_by_key(session: str, mark_id: str) -> Begin[int]:
    def transaction() -> Transaction[int]:
        found = yield lock_by_key, {"key": f"key of {session}"}
        return (yield from _count(found[0]["id"], mark_id, found[0]["n"]))

    return transaction


def _count(session: str, mark_id: str, n: int) -> Transaction[int]:
    # The mark makes it safe to drive again after a commit whose answer was lost.
    new = yield mark, {"id": mark_id, "session_id": session, "n": n}
    if new:
        yield store, {"id": session, "n": n + 1}
    return n


def increment_then_raise(session: str) -> Begin[None]:
    def transaction() -> Transaction[None]:
        yield add, {"id": session, "by": 1}
        raise Conflict("it has changed its mind")

    return transaction


def look_then_raise(session: str) -> Begin[None]:
    def transaction() -> Transaction[None]:
        yield lock, {"id": session}
        raise Conflict("it does not like what it sees")

    return transaction


def move(source: str, target: str, by: int) -> Begin[None]:
    """The total is the same before and after, and different in between."""

    def transaction() -> Transaction[None]:
        yield add, {"id": source, "by": -by}
        yield add, {"id": target, "by": by}

    return transaction


def sum_up_twice() -> Transaction[list[int]]:
    first = yield total, {}
    second = yield total, {}
    return [first[0]["n"], second[0]["n"]]


def make_mark(**params: str | int) -> Begin[bool]:
    def transaction() -> Transaction[bool]:
        rows = yield mark, params
        return bool(rows)

    return transaction


def first(query: Query) -> Begin[object]:
    """The column n of the first row of a query without parameters."""

    def transaction() -> Transaction[object]:
        rows = yield query, {}
        return rows[0]["n"]

    return transaction


def which_transaction(session: str) -> Begin[str]:
    def transaction() -> Transaction[str]:
        rows = yield transaction_id, {"id": session}
        return str(rows[0]["xid"])

    return transaction


def names(count: int) -> Sequence[str]:
    return [f"s{number:03}" for number in range(count)]
