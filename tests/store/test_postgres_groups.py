"""Many callers in one transaction of PostgreSQL: what hangs on its transactions, its queue and its processes.

What holds on both databases is in `test_groups.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from segue.errors import StoreError, StoreUnavailable
from segue.store.database import Begin, Database, Transaction
from segue.store.postgres.connection import BEGIN
from segue.store.postgres.database import Postgres
from segue.store.postgres.group import Group
from segue.store.postgres.transaction import CallerTransaction, SessionKeys
from segue.store.queries import translate
from tests.store import counting
from tests.store.counting import increment, make_mark, move, names

SESSIONS = names(20)


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Postgres]:
    await counting.create(postgres_url, *SESSIONS)
    database = await Postgres.open(postgres_url)
    yield database
    await database.close()


async def run_until_not_blocked(database: Database, work: Begin[None]) -> None:
    """Retry like a caller that was told that a row was held for too long."""
    while True:
        try:
            return await database.run(work)
        except StoreUnavailable as error:
            if "has held" not in str(error):
                raise


def caller(begin: Begin[int], keys: SessionKeys) -> CallerTransaction:
    return CallerTransaction(begin, asyncio.get_running_loop().create_future(), keys)


async def count(database: Database, session: str) -> int:
    return int((await database.read(counting.lock, {"id": session}))[0]["n"])


async def test_callers_share_commits(database: Postgres) -> None:
    seen = await asyncio.gather(*(database.run(counting.which_transaction(name)) for name in SESSIONS))
    assert len(set(seen)) < len(SESSIONS)


async def test_text_that_postgres_cannot_store_is_one_callers_error(database: Postgres) -> None:
    work = [make_mark(id=name, session_id=name, n=0) for name in SESSIONS]
    bad = make_mark(id="a mark with a NUL \0", session_id="bad", n=0)
    *_, error = await asyncio.gather(*map(database.run, work), database.run(bad), return_exceptions=True)
    assert isinstance(error, StoreError)
    assert [row["id"] for row in await database.read(counting.marks, {})] == SESSIONS


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
    here = [run_until_not_blocked(database, move("s000", "s001", 1)) for _ in range(20)]
    there = [run_until_not_blocked(other, move("s001", "s000", 1)) for _ in range(20)]
    async with asyncio.timeout(60):
        await asyncio.gather(*here, *there)
    await other.close()
    assert [await count(database, name) for name in ("s000", "s001")] == [0, 0]


async def test_a_group_leaves_out_callers_whose_session_another_process_has(
    database: Postgres, postgres_url: str
) -> None:
    keys = SessionKeys()
    callers = [caller(increment(name, f"mark of {name}"), keys) for name in SESSIONS[:3]]
    here, there = [await asyncpg.connect(postgres_url) for _ in range(2)]
    assert await Group(callers[:1], keys).begin(there, BEGIN) == []
    group = Group(callers, keys)
    assert await group.begin(here, BEGIN) == callers[:1]
    await group.drive(here)
    await group.commit(here)
    await there.execute("ROLLBACK")
    for connection in (here, there):
        await connection.close()
    assert [each.query is None for each in callers] == [False, True, True]
    assert [await count(database, name) for name in SESSIONS[:3]] == [0, 1, 1]


async def test_a_caller_that_was_left_out_runs_later_and_blocks_no_other(
    database: Postgres, postgres_url: str
) -> None:
    elsewhere = await asyncpg.connect(postgres_url)
    busy = caller(increment("s000", "elsewhere"), SessionKeys())
    await Group([busy], SessionKeys()).begin(elsewhere, BEGIN)
    left_out, *others = [asyncio.ensure_future(database.run(increment(n, n))) for n in SESSIONS]
    await asyncio.gather(*others)
    assert not left_out.done()
    await elsewhere.close()
    assert await left_out == 0


async def test_an_invalid_read_fails_alone(database: Postgres) -> None:
    with pytest.raises(StoreError, match=r"counters\.total"):
        await database.read(translate("counters.total", "SELECT n FROM no_such_table"), {})
    assert await database.read(counting.total, {})
