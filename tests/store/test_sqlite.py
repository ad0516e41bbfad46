"""SQLite: what a caller may rely on, with a file, in memory and without threads."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from segue.errors import Conflict, StoreError, StoreUnavailable
from segue.store.database import Begin, Database, Transaction
from segue.store.queries import translate
from segue.store.settings import StoreSettings
from segue.store.sqlite.database import Sqlite
from segue.testing.inline_sqlite import InlineSqlite

create = translate("words.create", "CREATE TABLE words (word TEXT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)")
add = translate("words.add", "INSERT INTO words (word, n) VALUES (:word, :n) RETURNING word, n")
count_up = translate("words.count_up", "UPDATE words SET n = n + 1 WHERE word = :word RETURNING n")
every = translate("words.every", "SELECT word FROM words ORDER BY word")
one = translate("words.one", "SELECT n FROM words WHERE word = :word")
create_child = translate(
    "letters.create", "CREATE TABLE letters (word TEXT REFERENCES words (word) DEFERRABLE INITIALLY DEFERRED)"
)
add_orphan = translate("letters.add", "INSERT INTO letters (word) VALUES (:word)")

Opener = Callable[[Path], Any]


async def _file(folder: Path) -> Sqlite:
    return await Sqlite.open(str(folder / "words.db"))


async def _memory(_: Path) -> Sqlite:
    return await Sqlite.open(":memory:")


async def _inline(_: Path) -> InlineSqlite:
    return InlineSqlite.open()


@pytest.fixture(params=[_file, _memory, _inline])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    opened: Database = await request.param(tmp_path)
    await opened.run(make_table)
    yield opened
    await opened.close()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Sqlite]:
    opened = await _file(tmp_path)
    await opened.run(make_table)
    yield opened
    await opened.close()


def make_table() -> Transaction[None]:
    yield create, {}


def adding(*words: str, then: Callable[[], None] = lambda: None) -> Begin[list[str]]:
    def transaction() -> Transaction[list[str]]:
        added = []
        for word in words:
            rows = yield add, {"word": word, "n": 0}
            added.append(rows[0]["word"])
        then()
        return added

    return transaction


def change_my_mind() -> None:
    raise Conflict("on second thoughts, no")


async def words(database: Database) -> list[str]:
    return [row["word"] for row in await database.read(every, {})]


class Pause:
    """Holds the writer inside a transaction, so that callers that come then form a group."""

    def __init__(self) -> None:
        self._inside = threading.Event()
        self._go_on = threading.Event()

    async def hold(self, database: Database) -> "asyncio.Task[list[str]]":
        held = asyncio.create_task(database.run(adding("first", then=self._wait)))
        await asyncio.to_thread(self._inside.wait)
        return held

    def _wait(self) -> None:
        self._inside.set()
        assert self._go_on.wait(timeout=60)

    def end(self) -> None:
        self._go_on.set()


async def a_group_of(database: Sqlite, *work: Begin[Any]) -> list[Any]:
    """The outcomes of transactions that are driven in one group."""
    pause = Pause()
    first = await pause.hold(database)
    rest = [asyncio.create_task(database.run(begin)) for begin in work]
    await asyncio.sleep(0)
    pause.end()
    await first
    return await asyncio.gather(*rest, return_exceptions=True)


async def test_what_was_committed_is_seen_by_the_next_read(database: Database) -> None:
    assert await database.run(adding("now")) == ["now"]
    assert await words(database) == ["now"]


async def test_a_transaction_that_raises_leaves_nothing_behind(database: Database) -> None:
    with pytest.raises(Conflict):
        await database.run(adding("now", "then", then=change_my_mind))
    assert await words(database) == []


async def test_a_list_of_parameters_gives_all_rows_in_order(database: Database) -> None:
    def transaction() -> Transaction[list[int]]:
        rows = yield add, [{"word": word, "n": n} for n, word in enumerate("cab")]
        nothing = yield add, []
        return [row["n"] for row in rows] + list(nothing)

    assert await database.run(transaction) == [0, 1, 2]


def test_parameters_are_sent_by_position_and_repeated_where_the_text_repeats_them() -> None:
    """Python 3.12.0 to 3.12.3 warn when the value of a numbered parameter, `?1`, comes from a sequence."""
    text = "SELECT n FROM words WHERE word = :word /*pg AND n > :n */ OR (n < :n AND word > :word)"
    query = translate("words.near", text)
    assert query.positional == "SELECT n FROM words WHERE word = ?  OR (n < ? AND word > ?)"
    assert query.pick_positional({"word": "a", "n": 1}) == ("a", 1, "a")


async def test_a_transaction_without_statements_returns(database: Database) -> None:
    assert await database.run(adding()) == []


async def test_a_statement_that_is_refused_is_named(database: Database) -> None:
    await database.run(adding("now"))
    with pytest.raises(StoreError, match=r"words\.add: UNIQUE constraint failed"):
        await database.run(adding("then", "now"))
    with pytest.raises(StoreError, match=r"words\.create: table words already exists"):
        await database.run(make_table)
    with pytest.raises(StoreError, match=r"words\.add_orphan.*no such table"):
        await database.read(translate("words.add_orphan", "SELECT 1 FROM nowhere"), {})
    assert await words(database) == ["now"]


async def test_a_parameter_that_is_missing_is_the_callers_fault_alone(database: Database) -> None:
    with pytest.raises(KeyError):
        await database.read(one, {})
    assert await words(database) == []


async def test_after_close_nothing_is_accepted(database: Database) -> None:
    await database.close()
    await database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.run(adding("now"))
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.read(every, {})


async def test_leases_are_judged_by_a_clock_that_cannot_be_set(database: Database) -> None:
    before = database.lease_now()
    after = database.lease_now()
    assert before is not None
    assert after is not None
    assert before <= after
    assert database.wall_ms() > 1_700_000_000_000


async def test_in_a_group_a_caller_that_raises_undoes_only_its_own_writes(file: Sqlite) -> None:
    outcomes = await a_group_of(
        file,
        adding("before"),
        adding("mine", then=change_my_mind),
        adding("after"),
        adding("first"),
        adding("last"),
    )
    assert [type(outcome) for outcome in outcomes] == [list, Conflict, list, StoreError, list]
    assert await words(file) == ["after", "before", "first", "last"]


async def test_a_group_that_is_driven_again_counts_once(file: Sqlite) -> None:
    def count() -> Transaction[int]:
        rows = yield count_up, {"word": "first"}
        n: int = rows[0]["n"]
        return n

    outcomes = await a_group_of(file, count, count, adding("mine", then=change_my_mind), count)
    assert [outcomes[0], outcomes[1], outcomes[3]] == [1, 2, 3]


async def test_a_commit_that_fails_fails_for_all_in_the_group(file: Sqlite) -> None:
    def orphan() -> Transaction[None]:
        yield add_orphan, {"word": "an orphan"}

    def make_child() -> Transaction[None]:
        yield create_child, {}

    await file.run(make_child)
    outcomes = await a_group_of(file, adding("before"), orphan, adding("after"))
    assert [type(outcome) for outcome in outcomes] == [StoreError, StoreError, StoreError]
    assert len({id(outcome) for outcome in outcomes}) == 3
    assert await words(file) == ["first"]
    await file.run(adding("later"))
    assert await words(file) == ["first", "later"]


async def test_an_exception_that_ends_programs_does_not_end_the_writer(file: Sqlite) -> None:
    def leave() -> None:
        raise SystemExit("not from here")

    with pytest.raises(SystemExit):
        await file.run(adding("mine", then=leave))
    assert await file.run(adding("next")) == ["next"]


async def test_a_cancelled_caller_does_not_affect_the_others(file: Sqlite) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    pause = Pause()
    first = await pause.hold(file)
    gone = [
        asyncio.create_task(file.run(adding("accepted"))),
        asyncio.create_task(file.run(adding("raised", then=change_my_mind))),
    ]
    await asyncio.sleep(0)
    for task in (first, *gone):
        task.cancel()
    pause.end()
    outcomes = await asyncio.gather(first, *gone, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    await file.run(adding("later"))
    assert await words(file) == ["accepted", "first", "later"]
    assert complaints == []


async def test_closing_finishes_what_was_accepted(file: Sqlite, tmp_path: Path) -> None:
    pause = Pause()
    accepted = [await pause.hold(file), *(asyncio.create_task(file.run(adding(word))) for word in "abc")]
    await asyncio.sleep(0)
    closing = asyncio.create_task(file.close())
    pause.end()
    await asyncio.gather(closing, *accepted)
    with sqlite3.connect(tmp_path / "words.db") as after:
        assert after.execute("SELECT COUNT(*) FROM words").fetchone() == (4,)
    after.close()


async def test_closing_leaves_no_log_beside_the_file(file: Sqlite, tmp_path: Path) -> None:
    await file.run(adding("now"))
    await file.close()
    assert sorted(os.listdir(tmp_path)) == ["words.db", "words.db.lock", "words.db.next"]


async def test_readers_cannot_write(file: Sqlite) -> None:
    with pytest.raises(StoreError):
        await file.read(add, {"word": "sly", "n": 1})
    assert await words(file) == []


async def test_a_read_does_not_wait_for_the_writer(file: Sqlite) -> None:
    await file.run(adding("before"))
    pause = Pause()
    first = await pause.hold(file)
    assert await words(file) == ["before"]
    pause.end()
    await first


async def test_a_loop_that_never_sleeps_does_not_starve_the_writer(file: Sqlite) -> None:
    """Counted in iterations of the loop: a commit that starves takes thousands of them."""
    turns = 0

    async def never_sleep() -> None:
        nonlocal turns
        while True:
            for _ in range(1_000):
                pass
            turns += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(never_sleep())
    for number in range(20):
        await file.run(adding(str(number)))
    busy.cancel()
    with suppress(asyncio.CancelledError):
        await busy
    assert turns < 20_000


async def test_what_another_connection_wrote_rings(
    tmp_path: Path,
) -> None:
    file = await Sqlite.open(str(tmp_path / "words.db"), StoreSettings(poll_seconds=0.001))
    await file.run(make_table)
    rung = asyncio.Event()
    async with file.watch(rung.set), asyncio.timeout(60):
        for number in range(20):
            await file.run(adding(f"our own {number}"))
        assert not rung.is_set()
        other = sqlite3.connect(tmp_path / "words.db")
        with other:
            other.execute("INSERT INTO words (word) VALUES ('theirs')")
        other.close()
        await rung.wait()
    await file.close()


async def test_handles_on_one_inline_database_behave_like_several_processes() -> None:
    rung: list[str] = []
    one_handle = InlineSqlite.open()
    other = one_handle.share()
    await one_handle.run(make_table)
    async with one_handle.watch(lambda: rung.append("one")), other.watch(lambda: rung.append("other")):
        await one_handle.run(adding("now"))
        await asyncio.sleep(0)
    assert rung == ["other"]
    await one_handle.close()
    assert await words(other) == ["now"]
    await other.close()
