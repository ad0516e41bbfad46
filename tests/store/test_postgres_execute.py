"""One query for many callers of PostgreSQL: its rows, its locks, and whether it wrote."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from segue.store.database import Params, Rows, Transaction
from segue.store.postgres.group import execute
from segue.store.postgres.transaction import CallerTransaction, SessionKeys
from segue.store.queries import Query, translate
from tests.store import counting

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection


FOUND = [{"id": "a"}]


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator["Connection"]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("CREATE TABLE words (id TEXT PRIMARY KEY, n BIGINT NOT NULL)")
    await connection.execute("INSERT INTO words VALUES ('a', 0), ('b', 0), ('c', 0)")
    yield connection
    await connection.close()


async def ask(connection: "Connection", text: str, *params: Params) -> list[list[tuple[object, ...]]]:
    """The id and n of the rows that each execution of the query returned, all in one transaction."""
    async with connection.transaction():
        answers = await execute(connection, translate("words.test", text), params)
    return [[(row["id"], row["n"]) for row in rows] for rows in answers]


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR NO KEY UPDATE SKIP LOCKED"])
async def test_a_locking_query_locks(connection: "Connection", postgres_url: str, lock: str) -> None:
    other = await asyncpg.connect(postgres_url)
    query = translate(
        "words.lock", f"SELECT id FROM words WHERE id >= :id ORDER BY id LIMIT 1 /*pg {lock} */"
    )
    async with connection.transaction():
        await execute(connection, query, [{"id": "a"}, {"id": "b"}])
        free = await other.fetch("SELECT id FROM words FOR UPDATE SKIP LOCKED")
    await other.close()
    assert [row["id"] for row in free] == ["c"]


async def test_a_claim_skips_what_others_hold_and_what_it_has_taken(
    connection: "Connection", postgres_url: str
) -> None:
    text = """
    WITH free AS MATERIALIZED (
        SELECT id FROM words WHERE n = 0 ORDER BY id LIMIT :limit /*pg FOR UPDATE SKIP LOCKED */
    )
    UPDATE words
    SET n = :holder
    WHERE id IN (SELECT id FROM free) AND n = 0
    RETURNING id, n
    """
    other = await asyncpg.connect(postgres_url)
    async with other.transaction():
        await other.execute("SELECT FROM words WHERE id = 'a' FOR UPDATE")
        answers = await ask(connection, text, *({"limit": 1, "holder": holder} for holder in (7, 8, 9)))
    await other.close()
    assert answers == [[("b", 7)], [("c", 8)], []]


async def test_each_execution_sees_what_the_one_before_it_wrote(connection: "Connection") -> None:
    text = "UPDATE words SET n = n + 1 WHERE id = :id RETURNING id, n"
    answers = await ask(connection, text, {"id": "a"}, {"id": "b"}, {"id": "a"}, {"id": "none"}, {"id": "a"})
    assert answers == [[("a", 1)], [("b", 1)], [("a", 2)], [], [("a", 3)]]


async def test_a_query_that_contains_a_write_runs_for_each(connection: "Connection") -> None:
    text = "WITH more AS (UPDATE words SET n = n + 1 WHERE id = :id RETURNING id, n) SELECT id, n FROM more"
    assert await ask(connection, text, {"id": "a"}, {"id": "a"}) == [[("a", 1)], [("a", 2)]]


ADD = "UPDATE words SET n = n + :by WHERE id = :id RETURNING id, n"
ADD_MANY = """
UPDATE words SET n = n + given.by
FROM unnest(CAST(:id AS TEXT[]), CAST(:by AS BIGINT[])) WITH ORDINALITY AS given (word, by, execution)
WHERE id = given.word
RETURNING id, n, given.execution
"""


@pytest.mark.parametrize(
    ("ids", "statements", "counts"), [("cxa", 1, [1, None, 3]), ("aba", 3, [1, 2, 4]), ("b", 1, [1])]
)
async def test_a_set_form_runs_once_if_no_two_executions_name_the_same_row(
    connection: "Connection", ids: str, statements: int, counts: list[int | None]
) -> None:
    add = translate("words.add", ADD, translate("words.add_many", ADD_MANY))
    asked: list[str] = []
    with connection.query_logger(lambda record: asked.append(record.query)):
        answers = await execute(connection, add, [{"id": id, "by": by} for by, id in enumerate(ids, 1)])
        await asyncio.sleep(0)  # the loop reports it
    assert [rows[0]["n"] if rows else None for rows in answers] == counts
    assert sum("UPDATE words" in text for text in asked) == statements


async def test_writes_without_rows_are_pipelined(connection: "Connection") -> None:
    text = "INSERT INTO words (id, n) VALUES (:id, 5)"
    assert await ask(connection, text, {"id": "x"}, {"id": "y"}) == [[], []]
    assert await connection.fetchval("SELECT COUNT(*) FROM words WHERE n = 5") == 2


@pytest.mark.parametrize(
    ("text", "writes", "returns_rows"),
    [
        ("SELECT id FROM words FOR UPDATE", False, True),
        ("UPDATE words SET n = 1 WHERE id = :id RETURNING id", True, True),
        ("UPDATE words SET n = 1 WHERE id = :id", True, False),
        ("INSERT INTO words VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = 2", True, False),
        ("DELETE FROM words WHERE id = :id", True, False),
        ("WITH gone AS (DELETE FROM words RETURNING id) SELECT id FROM gone WHERE FALSE", True, True),
        ("CREATE TABLE more (id TEXT)", True, True),
    ],
)
def test_what_a_query_does_is_known_by_its_first_word(text: str, writes: bool, returns_rows: bool) -> None:
    query = translate("words.test", text)
    assert (query.writes, query.returns_rows) == (writes, returns_rows)


@pytest.mark.parametrize(
    ("query", "rows", "wrote"),
    [
        (counting.lock, FOUND, False),
        (counting.add, [], False),
        (counting.add, FOUND, True),
        (counting.store, [], True),
    ],
    ids=lambda value: getattr(value, "name", None),
)
async def test_a_guarded_write_that_missed_has_written_nothing(query: Query, rows: Rows, wrote: bool) -> None:
    def body() -> Transaction[None]:
        yield query, {"id": "a"}

    caller = CallerTransaction(body, asyncio.get_running_loop().create_future(), SessionKeys())
    caller.answer(rows)
    assert caller.wrote is wrote
