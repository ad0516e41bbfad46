"""Group commit: each caller gets the result that it would get alone."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from segue.errors import Conflict, StoreError
from segue.store.database import Begin, Database, Params, Transaction
from segue.store.open import connect
from segue.store.postgres.database import Postgres
from segue.store.queries import translate
from segue.store.settings import StoreSettings
from segue.store.sqlite.database import Sqlite
from tests.store import counting
from tests.store.counting import (
    increment,
    increment_by_key,
    increment_then_raise,
    look_then_raise,
    make_mark,
    move,
    names,
    sum_up_twice,
)

SESSIONS = names(20)

create_again = [
    translate("counters.remove", "DELETE FROM counters WHERE id = 's000'"),
    translate("counters.create", "INSERT INTO counters (id, key) VALUES ('new', 'key of s000')"),
]


@dataclass
class GroupResult:
    """The outcomes of callers that came at once."""

    outcomes: list[Any]
    commits: int

    @property
    def results(self) -> list[Any]:
        for outcome in self.outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return self.outcomes


async def at_once(database: Database, *work: Begin[Any]) -> GroupResult:
    if isinstance(database, Postgres):
        return await at_once_on_postgres(database, work)
    assert isinstance(database, Sqlite)
    return await at_once_on_sqlite(database, work)


async def at_once_on_postgres(database: Postgres, work: Sequence[Begin[Any]]) -> GroupResult:
    commits: list[None] = []
    database._writers._on_commit = lambda: commits.append(None)
    outcomes = await asyncio.gather(*map(database.run, work), return_exceptions=True)
    return GroupResult(outcomes, len(commits))


async def at_once_on_sqlite(database: Sqlite, work: Sequence[Begin[Any]]) -> GroupResult:
    """They come while the writer is inside a transaction, and form the group that follows it."""
    inside, go_on = threading.Event(), threading.Event()

    def hold_the_writer() -> Transaction[None]:
        yield counting.total, {}
        inside.set()
        assert go_on.wait(timeout=60)

    statements: list[str] = []
    connection: sqlite3.Connection = database._writer._connection
    connection.set_trace_callback(statements.append)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(database.run(hold_the_writer))
        await asyncio.to_thread(inside.wait)
        group = asyncio.gather(*map(database.run, work), return_exceptions=True)
        await asyncio.sleep(0)
        go_on.set()
        outcomes = await group
    connection.set_trace_callback(None)
    assert statements.count("COMMIT") == 2, "callers that came at once are one group"
    return GroupResult(outcomes, 1)


async def count(database: Database, session: str) -> int:
    return int((await database.read(counting.lock, {"id": session}))[0]["n"])


async def test_callers_share_commits(database: Database) -> None:
    group = await at_once(database, *(increment(name, name) for name in SESSIONS))
    assert group.results == [0] * len(SESSIONS)
    assert group.commits <= 4


@pytest.mark.parametrize("size", [2, 65, 130])
async def test_in_a_large_group_each_caller_gets_its_own_rows(bare_url: str, size: int) -> None:
    def visit(number: int, session: str) -> Transaction[tuple[list[Any], ...]]:
        """A row that exists, one that is changed, one that is added, and one that is missing."""
        found = yield counting.lock, {"id": session}
        changed = yield counting.add, {"id": session, "by": number}
        added = yield counting.mark, {"id": f"mark of {session}", "session_id": session, "n": number}
        missed = yield counting.add, {"id": f"none like {session}", "by": number}
        return (
            [row["id"] for row in found],
            [row["n"] for row in changed],
            [row["id"] for row in added],
            [*missed],
        )

    sessions = names(size)
    await counting.create(bare_url, *sessions)
    database = await connect(bare_url)
    try:
        group = await at_once(database, *(partial(visit, *each) for each in enumerate(sessions)))
        marks = {row["id"]: row["n"] for row in await database.read(counting.marks, {})}
    finally:
        await database.close()
    assert group.results == [([name], [n], [f"mark of {name}"], []) for n, name in enumerate(sessions)]
    assert marks == {f"mark of {name}": n for n, name in enumerate(sessions)}


async def test_callers_of_one_session_never_come_between_each_other(database: Database) -> None:
    work = [increment(name, f"{name} {number}") for number in range(30) for name in SESSIONS[:3]]
    group = await at_once(database, *work)
    assert sorted(group.results) == [number for number in range(30) for _ in range(3)]
    assert [await count(database, name) for name in SESSIONS[:3]] == [30, 30, 30]


async def test_a_session_is_the_same_by_key_and_by_id(database: Database) -> None:
    await database.run(increment_by_key("s000", "the id behind the key is known from here on"))
    work = [
        kind("s000", f"{kind.__name__} {number}")
        for number in range(30)
        for kind in (increment, increment_by_key)
    ]
    group = await at_once(database, *work)
    assert sorted(group.results) == [*range(1, 61)]
    assert await count(database, "s000") == 61


async def test_a_session_is_the_same_by_an_unknown_key(database: Database) -> None:
    """The conflict shows when the row is found, in the middle of both transactions."""
    work = [
        kind(name, f"{kind.__name__} {name}") for name in SESSIONS for kind in (increment, increment_by_key)
    ]
    group = await at_once(database, *work)
    assert sorted(group.results) == [*[0] * len(SESSIONS), *[1] * len(SESSIONS)]
    assert [await count(database, name) for name in SESSIONS] == [2] * len(SESSIONS)


async def test_unknown_keys_share_commits(database: Database) -> None:
    """A thousand new conversations are not committed one by one."""
    group = await at_once(database, *(increment_by_key(name, name) for name in SESSIONS))
    assert group.results == [0] * len(SESSIONS)
    assert group.commits <= 4


async def test_a_key_may_later_name_another_session(database: Database) -> None:
    def create_it_again() -> Transaction[None]:
        for query in create_again:
            yield query, {}

    await at_once(database, increment_by_key("s000", "known as s000"), increment("s001", "beside it"))
    await database.run(create_it_again)
    work = [increment_by_key("s000", f"again {number}") for number in range(10)]
    work += [increment(name, f"beside {name}") for name in SESSIONS[1:]]
    work += [increment("new", f"by its id {number}") for number in range(10)]
    group = await at_once(database, *work)
    assert group.results
    assert await count(database, "new") == 20


async def test_a_caller_that_names_no_session_sees_nothing_half_done(database: Database) -> None:
    pairs = [*zip(SESSIONS[::2], SESSIONS[1::2], strict=True)]
    work: list[Begin[Any]] = [move(*pair, 5) for pair in pairs]
    group = await at_once(database, *work, sum_up_twice, *(move(*pair, 3) for pair in pairs))
    assert group.results[len(work)] == [0, 0]
    assert [await count(database, name) for name in SESSIONS] == [-8, 8] * len(pairs)


async def test_callers_that_want_each_others_sessions_both_finish(database: Database) -> None:
    group = await at_once(database, *(move(*pair, 1) for pair in [("s000", "s001"), ("s001", "s000")] * 10))
    assert group.results == [None] * 20
    assert [await count(database, name) for name in ("s000", "s001")] == [0, 0]


async def test_callers_that_want_each_others_sessions_never_meet_a_lock(postgres_url: str) -> None:
    """With no patience for locks, a caller that met one would fail."""
    await counting.create(postgres_url, *SESSIONS)
    database = await connect(postgres_url, StoreSettings(lock_seconds=0))
    try:
        group = await at_once(
            database, *(move(*pair, 1) for pair in [("s000", "s001"), ("s001", "s000")] * 10)
        )
        assert group.results == [None] * 20
    finally:
        await database.close()


async def test_a_caller_that_raises_fails_alone(database: Database) -> None:
    """Callers of the same session before and after it succeed, and so do those of other sessions."""
    work: list[Begin[Any]] = [increment(name, name) for name in SESSIONS]
    work[1:1] = [increment_then_raise("s000"), increment("s000", "after it")]
    group = await at_once(database, *work)
    assert [type(outcome) for outcome in group.outcomes] == [int, Conflict, *[int] * len(SESSIONS)]
    assert [await count(database, name) for name in SESSIONS] == [2, *[1] * (len(SESSIONS) - 1)]


async def test_a_caller_that_raises_before_it_has_written_does_not_even_hold_up_the_others(
    database: Database,
) -> None:
    work: list[Begin[Any]] = [increment(name, name) for name in SESSIONS]
    work[1:1] = [look_then_raise("s000"), increment("s000", "after it")]
    group = await at_once(database, *work)
    assert [type(outcome) for outcome in group.outcomes] == [int, Conflict, *[int] * len(SESSIONS)]
    assert [await count(database, name) for name in SESSIONS] == [2, *[1] * (len(SESSIONS) - 1)]


@pytest.mark.parametrize(
    "bad",
    [
        {"id": "a mark with half a character \ud800", "n": 0},
        {"id": "a mark with a number that is too large", "n": 2**63},
        {"id": "a mark that a constraint refuses", "n": -1},
    ],
)
async def test_a_bad_value_is_one_callers_error(database: Database, bad: dict[str, str | int]) -> None:
    work = [make_mark(id=name, session_id=name, n=0) for name in SESSIONS]
    work.insert(7, make_mark(session_id="bad", **bad))
    group = (await at_once(database, *work)).outcomes
    # Some values are refused by Python's sqlite3 module, with its own error.
    refusal = (
        StoreError if isinstance(database, Postgres) else StoreError | UnicodeEncodeError | OverflowError
    )
    assert isinstance(group.pop(7), refusal)
    assert group == [True] * len(SESSIONS)
    assert [row["id"] for row in await database.read(counting.marks, {})] == SESSIONS


async def test_a_list_runs_for_each_and_its_rows_come_in_order(database: Database) -> None:
    def transaction(session: str) -> Transaction[list[str]]:
        marks: list[Params] = [{"id": f"{session} {n}", "session_id": session, "n": n} for n in (2, 1, 3)]
        rows = yield counting.mark, marks
        none = yield counting.mark, []
        again = yield counting.mark, marks[1:]
        return [row["id"] for row in (*rows, *none, *again)]

    group = await at_once(database, *(partial(transaction, name) for name in SESSIONS))
    assert group.results == [[f"{name} {n}" for n in (2, 1, 3)] for name in SESSIONS]


async def test_a_list_may_come_to_one_row_twice(database: Database) -> None:
    def transaction(session: str) -> Transaction[list[int]]:
        rows = yield counting.add, [{"id": session, "by": by} for by in (1, 2, 4)]
        return [row["n"] for row in rows]

    group = await at_once(database, *(partial(transaction, name) for name in SESSIONS))
    assert group.results == [[1, 3, 7]] * len(SESSIONS)


async def test_a_statement_sees_the_writes_before_it(database: Database) -> None:
    def transaction(session: str) -> Transaction[int]:
        yield counting.store, {"id": session, "n": 7}
        found = yield counting.lock, {"id": session}
        return int(found[0]["n"])

    group = await at_once(database, *(partial(transaction, name) for name in SESSIONS))
    assert group.results == [7] * len(SESSIONS)


async def test_a_write_at_the_end_is_committed(database: Database) -> None:
    def transaction(session: str) -> Transaction[str]:
        yield counting.lock, {"id": session}
        yield counting.store, {"id": session, "n": 7}
        return "done"

    group = await at_once(database, *(partial(transaction, name) for name in SESSIONS))
    assert group.results == ["done"] * len(SESSIONS)
    assert [await count(database, name) for name in SESSIONS] == [7] * len(SESSIONS)
