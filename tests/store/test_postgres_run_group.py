"""One query for many callers of PostgreSQL: its locks, and statements that SQLite does not have.

What holds on both databases is in `test_sets.py`.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from segue.store.batching.shapes import shape_of
from segue.store.database import Params, Rows
from segue.store.postgres.run_group import fetch_each
from segue.store.queries import translate

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
        answers = await fetch_each(connection, translate("words.test", text), params)
    return [[(row["id"], row["n"]) for row in rows] for rows in answers]


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


async def test_a_query_that_contains_a_write_is_not_rewritten(connection: "Connection") -> None:
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
