"""Many callers in one transaction: each must come out as if it had been alone."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

import asyncpg
import pytest

from segue.errors import Conflict, StoreError, StoreUnavailable
from segue.store.database import Begin, Database, Params, Transaction
from segue.store.postgres import Postgres
from segue.store.sql import translate
from tests.store import counting
from tests.store.counting import (
    increment,
    increment_by_key,
    increment_then_raise,
    make_mark,
    move,
    names,
    sum_up_twice,
)

SESSIONS = names(20)


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Postgres]:
    await counting.create(postgres_url, *SESSIONS)
    database = await Postgres.open(postgres_url)
    yield database
    await database.close()


async def in_the_end(database: Database, work: Begin[None]) -> None:
    """As whoever is told that a row was held for too long, and that nothing was done."""
    while True:
        try:
            return await database.run(work)
        except StoreUnavailable as told:
            if "has held" not in str(told):
                raise


async def count(database: Database, session: str) -> int:
    return int((await database.read(counting.lock, {"id": session}))[0]["n"])


async def test_callers_share_commits(database: Postgres) -> None:
    seen = await asyncio.gather(*(database.run(counting.which_transaction(name)) for name in SESSIONS))
    assert len(set(seen)) < len(SESSIONS)


async def test_callers_of_one_session_never_come_between_each_other(database: Postgres) -> None:
    work = [increment(name, f"{name} {number}") for number in range(30) for name in SESSIONS[:3]]
    await asyncio.gather(*map(database.run, work))
    assert [await count(database, name) for name in SESSIONS[:3]] == [30, 30, 30]


async def test_a_session_is_the_same_by_key_and_by_id(database: Postgres) -> None:
    await database.run(increment_by_key("s000", "the id behind the key is known from here on"))
    work = [
        kind("s000", f"{kind.__name__} {number}")
        for number in range(30)
        for kind in (increment, increment_by_key)
    ]
    await asyncio.gather(*map(database.run, work))
    assert await count(database, "s000") == 61


async def test_a_session_is_the_same_by_a_key_that_nobody_has_seen(database: Postgres) -> None:
    """The two meet when the row is found, in the middle of both."""
    work = [
        kind(name, f"{kind.__name__} {name}") for name in SESSIONS for kind in (increment, increment_by_key)
    ]
    await asyncio.gather(*map(database.run, work))
    assert [await count(database, name) for name in SESSIONS] == [2] * len(SESSIONS)


async def test_keys_that_nobody_has_seen_share_commits(database: Postgres) -> None:
    """A thousand new conversations do not come in one by one."""
    commits: list[None] = []
    database._writers._on_commit = lambda: commits.append(None)
    await asyncio.gather(*(database.run(increment_by_key(name, name)) for name in SESSIONS))
    assert len(commits) <= 4


async def test_a_key_may_come_to_mean_another_session(database: Postgres, postgres_url: str) -> None:
    await database.run(increment_by_key("s000", "known as s000"))
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("DELETE FROM counters WHERE id = 's000'")
    await connection.execute("INSERT INTO counters (id, key) VALUES ('new', 'key of s000')")
    await connection.close()
    work = [increment_by_key("s000", f"again {number}") for number in range(10)]
    work += [increment(name, f"beside {name}") for name in SESSIONS[1:]]
    await asyncio.gather(*map(database.run, work))
    assert await count(database, "new") == 10


async def test_who_names_no_session_sees_nothing_half_done(database: Postgres) -> None:
    work = [move(source, target, 5) for source, target in zip(SESSIONS[::2], SESSIONS[1::2], strict=True)]
    *_, totals = await asyncio.gather(*map(database.run, work), database.run(sum_up_twice))
    assert totals == [0, 0]


async def test_callers_that_want_each_others_sessions_both_finish(database: Postgres) -> None:
    await asyncio.gather(
        *(database.run(move(*pair, 1)) for pair in [("s000", "s001"), ("s001", "s000")] * 10)
    )
    assert [await count(database, name) for name in ("s000", "s001")] == [0, 0]


async def test_a_caller_that_raises_takes_nobody_with_it(database: Postgres) -> None:
    work = [increment(name, name) for name in SESSIONS]
    *_, error = await asyncio.gather(
        *map(database.run, work), database.run(increment_then_raise("s000")), return_exceptions=True
    )
    assert isinstance(error, Conflict)
    assert [await count(database, name) for name in SESSIONS] == [1] * len(SESSIONS)


@pytest.mark.parametrize(
    "bad",
    [
        {"id": "a mark with a NUL \0", "n": 0},
        {"id": "a mark with half a character \ud800", "n": 0},
        {"id": "a mark with a number that is too large", "n": 2**63},
        {"id": "a mark that a constraint refuses", "n": -1},
    ],
)
async def test_a_bad_value_is_one_callers_error(database: Postgres, bad: dict[str, str | int]) -> None:
    work = [make_mark(id=name, session_id=name, n=0) for name in SESSIONS]
    *_, error = await asyncio.gather(
        *map(database.run, work),
        database.run(make_mark(session_id="bad", **bad)),
        return_exceptions=True,
    )
    assert isinstance(error, StoreError)
    assert [row["id"] for row in await database.read(counting.marks, {})] == SESSIONS


async def test_a_list_runs_for_each_and_its_rows_come_in_order(database: Postgres) -> None:
    def transaction(session: str) -> Transaction[list[str]]:
        marks: list[Params] = [{"id": f"{session} {n}", "session_id": session, "n": n} for n in (2, 1, 3)]
        rows = yield counting.mark, marks
        none = yield counting.mark, []
        return [row["id"] for row in (*rows, *none)]

    answers = await asyncio.gather(*(database.run(partial(transaction, name)) for name in SESSIONS))
    assert answers == [[f"{name} {n}" for n in (2, 1, 3)] for name in SESSIONS]


async def test_a_transaction_without_a_statement_needs_no_database(database: Postgres) -> None:
    def nothing(marks: Sequence[str]) -> Transaction[str]:
        for each in marks:
            yield counting.lock, {"id": each}
        return "done"

    assert await database.run(lambda: nothing([])) == "done"


async def test_a_cancelled_caller_leaves_the_session_free(database: Postgres) -> None:
    async with asyncio.TaskGroup() as tasks:
        cancelled = [tasks.create_task(database.run(increment("s000", f"gone {n}"))) for n in range(5)]
        await database.run(counting.which_transaction("s001"))
        for task in cancelled:
            task.cancel()
    before = await database.run(increment("s000", "still here"))
    assert await count(database, "s000") == before + 1


async def test_close_finishes_what_was_accepted(database: Postgres, postgres_url: str) -> None:
    accepted = [asyncio.ensure_future(database.run(increment("s000", str(n)))) for n in range(10)]
    await asyncio.wait(accepted, return_when=asyncio.FIRST_COMPLETED)
    await database.close()
    assert sorted(task.result() for task in accepted) == list(range(10))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.run(increment("s000", "too late"))
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.read(counting.marks, {})


async def test_two_processes_that_lock_in_opposite_order_both_finish(
    database: Postgres, postgres_url: str
) -> None:
    other = await Postgres.open(postgres_url)
    here = [in_the_end(database, move("s000", "s001", 1)) for _ in range(20)]
    there = [in_the_end(other, move("s001", "s000", 1)) for _ in range(20)]
    async with asyncio.timeout(60):
        await asyncio.gather(*here, *there)
    await other.close()
    assert [await count(database, name) for name in ("s000", "s001")] == [0, 0]


async def test_a_read_that_cannot_be_is_an_error_of_its_own(database: Postgres) -> None:
    with pytest.raises(StoreError, match=r"counters\.total"):
        await database.read(translate("counters.total", "SELECT n FROM no_such_table"), {})
    assert await database.read(counting.total, {})
