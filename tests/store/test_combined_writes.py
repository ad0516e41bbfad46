"""Combined writes: a write without rows is part of the next statement, with the same effect."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from segue.errors import Conflict
from segue.store.batching.transaction import BatchedTransaction, Executions, SessionKeys
from segue.store.database import Database, Params, Rows, Transaction
from segue.store.postgres.combined_writes import as_one, independent
from segue.store.postgres.run_group import fetch_step
from segue.store.queries import translate
from tests.store import counting

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

SESSIONS = counting.names(20)

store = counting.store
put = translate("marks.put", "INSERT INTO marks (id, session_id, n) VALUES (:id, :session_id, :n)")
seen = translate("marks.seen", "SELECT id, n FROM marks WHERE session_id = :session_id ORDER BY id")
count_marks = translate(
    "sessions.count", "UPDATE counters SET n = (SELECT COUNT(*) FROM marks) WHERE id = :id RETURNING n"
)
forget = translate("marks.forget", "DELETE FROM marks WHERE id = :id")


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator["Connection"]:
    await counting.create(postgres_url, *SESSIONS)
    connection = await asyncpg.connect(postgres_url)
    async with connection.transaction():
        yield connection
    await connection.close()


def a_mark(number: int, session: str = "s000") -> Params:
    return {"id": f"m{number}", "session_id": session, "n": number}


class TestACaller:
    def test_advances_until_it_needs_rows(self) -> None:
        def body() -> Transaction[Rows]:
            yield put, a_mark(1)
            yield put, []
            yield store, {"id": "s001", "n": 2}
            return (yield seen, {"session_id": "s000"})

        caller = BatchedTransaction(body, SessionKeys())
        assert [query.name for query, _ in caller.step] == ["marks.put", "sessions.store", "marks.seen"]
        assert caller.sessions == ("s000", "s001", "s000")
        caller.answer([{"id": "m1", "n": 1}])
        assert (caller.finished, caller.wrote, caller.result) == (True, True, [{"id": "m1", "n": 1}])

    def test_has_not_finished_before_its_collected_writes_have_run(self) -> None:
        def body() -> Transaction[str]:
            yield put, a_mark(1)
            return "done"

        caller = BatchedTransaction(body, SessionKeys())
        assert not caller.finished
        caller.answer(())
        assert (caller.finished, caller.result) == (True, "done")

    def test_that_raises_drops_its_collected_writes(self) -> None:
        def body() -> Transaction[None]:
            yield put, a_mark(1)
            raise Conflict("it has changed its mind")

        caller = BatchedTransaction(body, SessionKeys())
        assert caller.finished
        assert not caller.must_be_undone
        assert isinstance(caller.error, Conflict)

    def test_starts_from_the_beginning_when_it_is_driven_again(self) -> None:
        def body() -> Transaction[None]:
            yield put, a_mark(1)

        caller = BatchedTransaction(body, SessionKeys())
        caller.answer(())
        caller.rewind()
        assert [query.name for query, _ in caller.step] == ["marks.put"]


async def test_a_statement_sees_the_writes_collected_before_it(database: Database) -> None:
    def body() -> Transaction[list[Any]]:
        yield put, [a_mark(1), a_mark(2)]
        counted = yield count_marks, {"id": "s000"}
        yield store, {"id": "s000", "n": 7}
        found = yield counting.lock, {"id": "s000"}
        return [counted[0]["n"], found[0]["n"]]

    assert await database.run(body) == [2, 7]


async def test_a_write_collected_last_is_committed(database: Database) -> None:
    def body() -> Transaction[str]:
        yield counting.lock, {"id": "s000"}
        yield put, a_mark(1)
        return "done"

    assert await database.run(body) == "done"
    assert [tuple(row) for row in await database.read(counting.marks, {})] == [("m1", 1)]


@pytest.mark.parametrize("callers", [1, 3, 20])
async def test_independent_writes_are_one_statement(connection: "Connection", callers: int) -> None:
    sessions = SESSIONS[:callers]
    step = [
        Executions(put, [a_mark(number, session) for number, session in enumerate(sessions)]),
        Executions(counting.add, [{"id": session, "by": n} for n, session in enumerate(sessions)]),
    ]
    asked: list[str] = []
    with connection.query_logger(lambda record: asked.append(record.query)):
        answers = await fetch_step(connection, step)
        await asyncio.sleep(0)  # the loop reports it
    assert [row["n"] for (row,) in answers] == [*range(callers)]
    assert sum("INTO marks" in text and "UPDATE counters" in text for text in asked) == 1
    assert await connection.fetchval("SELECT COUNT(*) FROM marks") == callers


async def test_a_write_that_must_see_another_is_a_statement_of_its_own(
    connection: "Connection",
) -> None:
    step = [Executions(put, [a_mark(1)]), Executions(count_marks, [{"id": "s000"}])]
    ((row,),) = await fetch_step(connection, step)
    assert row["n"] == 1


def test_only_writes_of_different_tables_are_independent() -> None:
    assert independent((put, store))
    assert not independent((put, put))
    assert not independent((put, count_marks)), "it reads what the other writes"
    assert not independent((put, seen)), "it reads"
    assert not independent((forget, store)), "other rows may go with what is deleted"


def test_each_part_takes_its_own_parameters() -> None:
    texts = ("UPDATE a SET n = $2 WHERE id = $1", "UPDATE b SET n = $1", "UPDATE c SET n = $1, m = $12")
    assert as_one(texts, (2, 1, 12)) == (
        "WITH along_1 AS (\nUPDATE a SET n = $2 WHERE id = $1\n), along_2 AS (\nUPDATE b SET n = $3\n)\n"
        "UPDATE c SET n = $4, m = $15"
    )
