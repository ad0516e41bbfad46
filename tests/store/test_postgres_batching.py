"""One query for many callers: whose row is whose, and what may be asked in one breath."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from segue.store.database import Params, Rows
from segue.store.lockstep.batching import fetch_each
from segue.store.lockstep.sets import fits, joined
from segue.store.lockstep.shapes import shape_of
from segue.store.sql import translate

if TYPE_CHECKING:
    from segue.store.server import Connection


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
        answers = await fetch_each(connection, translate("words.test", text), params)
    return [[(row["id"], row["n"]) for row in rows] for rows in answers]


async def test_each_execution_sees_what_the_one_before_it_wrote(connection: "Connection") -> None:
    text = "UPDATE words SET n = n + 1 WHERE id = :id RETURNING id, n"
    answers = await ask(connection, text, {"id": "a"}, {"id": "b"}, {"id": "a"}, {"id": "none"}, {"id": "a"})
    assert answers == [[("a", 1)], [("b", 1)], [("a", 2)], [], [("a", 3)]]


async def test_executions_with_a_row_each_are_one_statement(connection: "Connection") -> None:
    """And whoever finds none gets none."""
    text = "UPDATE words SET n = n + :more WHERE id = :id RETURNING id, n"
    params: list[Params] = [{"id": "a", "more": 1}, {"id": "none", "more": 2}, {"id": "c", "more": 3}]
    assert fits(translate("words.test", text), params, "postgres")
    assert await ask(connection, text, *params) == [[("a", 1)], [], [("c", 3)]]


async def test_what_is_added_goes_back_to_who_added_it(connection: "Connection") -> None:
    """One that was there before is not added again."""
    text = "INSERT INTO words (id, n) VALUES (:id, length(:word)) ON CONFLICT (id) DO NOTHING RETURNING id"
    query = translate("words.test", text)
    params = [{"id": "y", "word": "no"}, {"id": "a", "word": "yes"}, {"id": "x", "word": "none"}]
    assert fits(query, params, "postgres")
    async with connection.transaction():
        answers = await fetch_each(connection, query, params)
    assert [[row["id"] for row in rows] for rows in answers] == [["y"], [], ["x"]]
    added = await connection.fetch("SELECT id, n FROM words WHERE n > 0 ORDER BY id")
    assert [(row["id"], row["n"]) for row in added] == [("x", 4), ("y", 2)]


async def test_nothing_is_a_value_of_any_type(connection: "Connection") -> None:
    text = "UPDATE words SET n = COALESCE(:n, n + 7) WHERE id = :id RETURNING id, n"
    assert await ask(connection, text, {"id": "a", "n": None}, {"id": "b", "n": None}) == [
        [("a", 7)],
        [("b", 7)],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE words SET n = 1 WHERE n = :n RETURNING id",
        "UPDATE words SET n = other.n FROM words AS other WHERE words.id = :id AND other.id = 'a'",
        "INSERT INTO words VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = 2 RETURNING id",
        "INSERT INTO words VALUES (:id, 1) RETURNING n",
        "INSERT INTO words SELECT :id, 1",
        "DELETE FROM words WHERE id = :id",
        "WITH w AS (SELECT id FROM words) UPDATE words SET n = 1 WHERE id = :id",
    ],
)
def test_what_cannot_be_told_apart_stays_apart(text: str) -> None:
    assert joined(translate("words.test", text), "postgres") is None


async def test_rows_keep_their_order(connection: "Connection") -> None:
    text = "SELECT id, n FROM words WHERE id >= :first ORDER BY id DESC"
    answers = await ask(connection, text, {"first": "b"}, {"first": "a"}, {"first": "z"})
    assert answers == [[("c", 0), ("b", 0)], [("c", 0), ("b", 0), ("a", 0)], []]


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR NO KEY UPDATE SKIP LOCKED"])
async def test_a_locking_query_locks(connection: "Connection", postgres_url: str, lock: str) -> None:
    other = await asyncpg.connect(postgres_url)
    query = translate(
        "words.lock", f"SELECT id FROM words WHERE id >= :id ORDER BY id LIMIT 1 /*pg {lock} */"
    )
    async with connection.transaction():
        await fetch_each(connection, query, [{"id": "a"}, {"id": "b"}])
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


async def test_a_write_without_rows_is_one_round_trip_too(connection: "Connection") -> None:
    text = "INSERT INTO words (id, n) VALUES (:id || 'RETURNING', 5) -- RETURNING"
    assert await ask(connection, text, {"id": "x"}, {"id": "y"}) == [[], []]
    assert await connection.fetchval("SELECT COUNT(*) FROM words WHERE n = 5") == 2


async def test_a_write_inside_a_query_is_not_taken_apart(connection: "Connection") -> None:
    text = "WITH more AS (UPDATE words SET n = n + 1 WHERE id = :id RETURNING id, n) SELECT id, n FROM more"
    assert not shape_of(translate("words.test", text)).pipelined
    assert await ask(connection, text, {"id": "a"}, {"id": "a"}) == [[("a", 1)], [("a", 2)]]


@pytest.mark.parametrize(
    ("text", "rows", "wrote"),
    [
        ("SELECT id FROM words FOR UPDATE", FOUND, False),
        ("WITH w AS (SELECT id FROM words FOR NO KEY UPDATE) SELECT id FROM w", FOUND, False),
        ("UPDATE words SET n = 1 WHERE id = :id RETURNING id", [], False),
        ("UPDATE words SET n = 1 WHERE id = :id RETURNING id", FOUND, True),
        (
            "INSERT INTO words VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = 2 RETURNING id",
            FOUND,
            True,
        ),
        ("UPDATE words SET n = 1 WHERE id = :id", [], True),
        ("WITH gone AS (DELETE FROM words RETURNING id) SELECT id FROM gone WHERE FALSE", [], True),
        ("CREATE TABLE more (id TEXT)", [], True),
    ],
)
def test_a_guarded_write_that_missed_has_written_nothing(text: str, rows: Rows, wrote: bool) -> None:
    assert shape_of(translate("words.test", text)).wrote(rows) is wrote
