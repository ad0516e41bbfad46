"""Set-based statements: each caller gets its own rows, and which queries may be rewritten."""

import random
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg
import pytest

from segue.errors import StoreError
from segue.store import queries
from segue.store.batching import sets
from segue.store.batching.sets import fits, joined
from segue.store.database import Params, Rows, Value
from segue.store.postgres.run_group import fetch_each
from segue.store.queries import Query, translate
from segue.store.sqlite.execute import _execute_each, execute
from segue.store.sqlite.file import MEMORY, open_file
from tests.postgres import wait_for
from tests.store.seeds import seed

TABLE = "CREATE TABLE words (id TEXT PRIMARY KEY, n BIGINT NOT NULL)"
WORDS = "INSERT INTO words VALUES ('a', 0), ('b', 0), ('c', 0)"
every = translate("words.every", "SELECT id, n FROM words ORDER BY id")


@dataclass
class Words:
    """A table of words on either database."""

    dialect: str
    run: Callable[[Query, Sequence[Params]], Awaitable[Sequence[Rows]]]

    async def ask(self, text: str, *params: Params) -> list[list[tuple[object, ...]]]:
        """The id and n of the rows that each execution of the query returned, all in one transaction."""
        answers = await self.run(translate("words.test", text), params)
        return [[(row["id"], row["n"]) for row in rows] for rows in answers]

    async def all(self) -> dict[str, int]:
        return {row["id"]: row["n"] for row in (await self.run(every, [{}]))[0]}


@pytest.fixture
async def words(bare_url: str) -> AsyncIterator[Words]:
    if bare_url.startswith("sqlite"):
        with closing(open_file(MEMORY, 0)) as file:
            yield _in_memory(file)
        return
    connection = await asyncpg.connect(bare_url)
    await connection.execute(f"{TABLE}; {WORDS}")

    async def run(query: Query, params: Sequence[Params]) -> Sequence[Rows]:
        async with connection.transaction():
            return await fetch_each(connection, query, params)

    yield Words("postgres", run)
    await connection.close()


def _in_memory(file: sqlite3.Connection) -> Words:
    file.execute(TABLE)
    file.execute(WORDS)

    async def run(query: Query, params: Sequence[Params]) -> Sequence[Rows]:
        return _execute_each(file, query, params)

    return Words("sqlite", run)


async def test_each_execution_sees_what_the_one_before_it_wrote(words: Words) -> None:
    text = "UPDATE words SET n = n + 1 WHERE id = :id RETURNING id, n"
    answers = await words.ask(text, {"id": "a"}, {"id": "b"}, {"id": "a"}, {"id": "none"}, {"id": "a"})
    assert answers == [[("a", 1)], [("b", 1)], [("a", 2)], [], [("a", 3)]]


async def test_executions_with_a_row_each_are_one_statement(words: Words) -> None:
    """An execution without a matching row gets no row."""
    text = "UPDATE words SET n = n + :more WHERE id = :id RETURNING id, n"
    params: list[Params] = [{"id": "c", "more": 1}, {"id": "none", "more": 2}, {"id": "a", "more": 3}]
    assert fits(translate("words.test", text), params, words.dialect)
    assert await words.ask(text, *params) == [[("c", 1)], [], [("a", 3)]]


@pytest.mark.parametrize(
    ("size", "statements"), [(1, 1), (2, 1), (3, 2), (64, 1), (65, 2), (127, 7), (128, 2), (130, 3)]
)
def test_sqlite_compiles_statements_of_few_sizes(size: int, statements: int) -> None:
    """A group of any size is split into cached statements."""
    update = translate("words.test", "UPDATE words SET n = n + :more WHERE id = :id RETURNING id, n")
    with closing(open_file(MEMORY, 0)) as file:
        file.execute(TABLE)
        file.executemany("INSERT INTO words VALUES (?, 0)", [(str(number),) for number in range(size)])
        seen: list[str] = []
        file.set_trace_callback(seen.append)
        params: list[Params] = [{"id": str(number), "more": number} for number in reversed(range(size))]
        answers = _execute_each(file, update, params)
    assert len(seen) == statements
    assert [[(row["id"], row["n"]) for row in rows] for rows in answers] == [
        [(str(number), number)] for number in reversed(range(size))
    ]


async def test_a_parameter_that_is_equal_in_all_executions_is_passed_once(words: Words) -> None:
    """In a large group: a value or NULL that is the same in all executions, for every parameter."""
    names = [f"w{number:02}" for number in range(sets.ALIKE_FROM + 3)]
    add = "INSERT INTO words (id, n) VALUES (:id, COALESCE(CAST(:none AS BIGINT), :n)) RETURNING id"
    added: list[Params] = [{"id": name, "n": 5, "none": None} for name in names]
    answers = await words.run(translate("words.add", add), added)
    assert [[row["id"] for row in rows] for rows in answers] == [[name] for name in names]
    raise_ = "UPDATE words SET n = n + :more WHERE id = :id AND n = :n RETURNING id, n"
    raised: list[Params] = [{"id": name, "more": 2, "n": 5} for name in [*names, "none"]]
    assert await words.ask(raise_, *raised) == [*([(name, 7)] for name in names), []]
    read: list[Params] = [{"id": "w03", "n": 7}] * 20
    assert await words.ask("SELECT id, n FROM words WHERE id = :id AND n = :n", *read) == [[("w03", 7)]] * 20


async def test_an_added_row_is_returned_to_the_execution_that_added_it(words: Words) -> None:
    """A row that exists, or that the same group has added, is not added again."""
    text = "INSERT INTO words (id, n) VALUES (:id, length(:word)) ON CONFLICT (id) DO NOTHING RETURNING id"
    query = translate("words.test", text)
    params = [{"id": "y", "word": "no"}, {"id": "a", "word": "yes"}, {"id": "x", "word": "none"}]
    assert fits(query, params, words.dialect)
    answers = await words.run(query, params)
    assert [[row["id"] for row in rows] for rows in answers] == [["y"], [], ["x"]]
    assert await words.all() == {"a": 0, "b": 0, "c": 0, "x": 4, "y": 2}
    assert not fits(query, [*params, {"id": "x", "word": "again"}], words.dialect)


async def test_a_row_read_by_two_executions_is_returned_to_both(words: Words) -> None:
    text = "SELECT id, n FROM words WHERE id = :id"
    params: list[Params] = [{"id": "b"}, {"id": "none"}, {"id": "a"}, {"id": "b"}]
    assert fits(translate("words.test", text), params, words.dialect)
    assert await words.ask(text, *params) == [[("b", 0)], [], [("a", 0)], [("b", 0)]]


async def test_null_is_a_value_of_any_type(words: Words) -> None:
    text = "UPDATE words SET n = COALESCE(:n, n + 7) WHERE id = :id RETURNING id, n"
    assert await words.ask(text, {"id": "a", "n": None}, {"id": "b", "n": None}, {"id": "c", "n": 1}) == [
        [("a", 7)],
        [("b", 7)],
        [("c", 1)],
    ]


async def test_rows_keep_their_order(words: Words) -> None:
    text = "SELECT id, n FROM words WHERE id >= :first ORDER BY id DESC"
    answers = await words.ask(text, {"first": "b"}, {"first": "a"}, {"first": "z"})
    assert answers == [[("c", 0), ("b", 0)], [("c", 0), ("b", 0), ("a", 0)], []]


async def test_a_write_without_rows_is_one_statement_too(words: Words) -> None:
    text = "INSERT INTO words (id, n) VALUES (:id || 'RETURNING', 5) -- RETURNING"
    params: list[Params] = [{"id": "x"}, {"id": "y"}]
    assert fits(translate("words.test", text), params, words.dialect)
    assert await words.ask(text, *params) == [[], []]
    assert await words.all() == {"a": 0, "b": 0, "c": 0, "xRETURNING": 5, "yRETURNING": 5}


WRITES_NOT_REWRITTEN = [
    "UPDATE words SET n = 1 WHERE n = :n RETURNING id",
    "UPDATE words SET n = :n",
    "UPDATE words SET n = length(:id) WHERE n = 0 RETURNING id",
    "UPDATE words SET n = other.n FROM words AS other WHERE words.id = :id AND other.id = 'a'",
    "INSERT INTO words VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = 2 RETURNING id",
    "INSERT INTO words VALUES (:id, 1) RETURNING n",
    "INSERT INTO words VALUES (:word, 1) RETURNING id",
    "INSERT INTO words SELECT :id, 1",
    "DELETE FROM words WHERE id = :id",
    "WITH w AS (SELECT id FROM words) UPDATE words SET n = 1 WHERE id = :id",
]


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("text", WRITES_NOT_REWRITTEN)
def test_a_write_whose_rows_cannot_be_assigned_is_not_rewritten(text: str, dialect: str) -> None:
    assert joined(translate("words.test", text), dialect) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM words WHERE id >= :id ORDER BY id",
        "SELECT id FROM words WHERE id >= :id LIMIT 1",
        "SELECT words.id FROM words JOIN words AS other ON other.n = words.n WHERE words.id = :id",
        "SELECT words.id FROM words LEFT JOIN words AS other ON other.n = words.n WHERE words.id = :id",
        "SELECT n FROM words WHERE id >= :id GROUP BY n",
        "SELECT COUNT(*) AS n FROM words WHERE id >= :id",
        "SELECT MAX(n) AS n FROM words WHERE id >= :id HAVING MAX(n) > 0",
        "SELECT DISTINCT n FROM words WHERE id >= :id",
        "SELECT id, (SELECT MAX(n) FROM words) AS n FROM words WHERE id = :id",
        "SELECT id FROM words WHERE id = :id UNION SELECT id FROM words WHERE n = 7",
        "SELECT id FROM words WHERE id = :id EXCEPT SELECT id FROM words WHERE n = 7",
        "SELECT id FROM words WHERE id = :id INTERSECT SELECT id FROM words WHERE n = 7",
        "SELECT id FROM (SELECT id FROM words WHERE id = :id) AS inner_one WHERE id <> ''",
        "SELECT * FROM words WHERE id = :id",
        "SELECT id FROM words",
        "SELECT 1 AS found WHERE :id <> ''",
        "WITH w AS (SELECT id FROM words) SELECT id FROM w WHERE id = :id",
    ],
)
async def test_a_query_over_several_tables_is_not_rewritten_on_sqlite(text: str) -> None:
    assert joined(translate("words.test", text), "sqlite") is None


REWRITTEN = [
    query for table in queries.TABLES for query in getattr(queries, table) if joined(query, "sqlite")
]

VARIETY = [
    "UPDATE sessions SET fence = rowid % 5, title = CASE WHEN rowid % 2 = 0 THEN 'a title' END",
    "UPDATE sessions SET commit_at = rowid WHERE rowid % 3 = 0",
    "UPDATE turns SET fence = rowid % 5",
    "UPDATE jobs SET revision = rowid % 5",
    "UPDATE jobs SET slot = NULL, next_at = NULL WHERE state = 'active' AND rowid % 7 = 0",
    "UPDATE deliveries SET fence = rowid % 5",
    "UPDATE tasks SET fence = rowid % 5",
    "UPDATE archives SET state = 'extracting' WHERE rowid % 2 = 0",
    "DELETE FROM recalls WHERE rowid % 3 = 0",
    "DELETE FROM scheduled_messages WHERE rowid % 3 = 0",
]
"""So that guards differ from row to row, and every query finds something."""

CLOSED = {"state", "kind", "trigger_kind", "outcome", "role", "when_busy", "chat_type", "crash", "next_at"}
"""Columns with restricted values: they get the value of another row."""
OPTIONAL = {
    "auto_at",
    "commit_at",
    "error",
    "kept_tokens",
    "reason",
    "reply",
    "state_reason",
    "title",
    "usage",
}
KEYS = {"id", "key", "slot", "seq", "n", "place", "version"}
"""Columns that distinguish an added row from existing ones."""


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("seeded") / "segue.db"
    wait_for(seed(f"sqlite:///{path}", 200, rare=4))
    with closing(open_file(str(path), 0)) as connection:
        for text in VARIETY:
            connection.execute(text)
        yield connection


class ExecutionMaker:
    """Makes executions of a query, most of which match a row."""

    def __init__(self, seeded: sqlite3.Connection, query: Query) -> None:
        self.rng = random.Random(query.name)
        self.seeded = seeded
        self.query = query
        named = re.search(r"\b(?:FROM|INTO|UPDATE)\s+(\w+)", query.sqlite)
        assert named is not None
        self.table = named[1]
        self.types = {row["name"]: row["type"] for row in seeded.execute(f"PRAGMA table_info({self.table})")}
        self.rows = [dict(row) for row in seeded.execute(f"SELECT * FROM {self.table}")]
        self.adds = query.sqlite.startswith("INSERT")
        guard = query.sqlite[query.sqlite.find("WHERE") :]
        self.guarded = [
            name for name in query.parameters if re.search(rf":{name}\b", guard) and name in self.types
        ]
        self.made = 0
        self.hits: list[Params] = []
        self.misses: list[Params] = []
        for params in map(self.naming, self.rows):
            (self.hits if self.finds_something(params) else self.misses).append(params)

    def executions(self, size: int, *, calm: bool) -> list[Params]:
        """Calm ones add new rows; of the others, some match no row or conflict with each other."""
        make = self.adding if self.adds else self.finding
        made: list[Params] = []
        for _ in range(1_000):
            made.append(make(made, calm=calm))
            if not fits(self.query, made, "sqlite"):
                made.pop()
            elif len(made) == size:
                return made
        raise AssertionError(f"the seed data has too few rows for {self.query.name}")

    def finding(self, others: Sequence[Params], *, calm: bool) -> Params:
        dice = 0.5 if calm else self.rng.random()
        if dice < 0.15 and others:
            return self.rng.choice(others)
        if dice < 0.3 and self.misses:
            return self.rng.choice(self.misses)
        found = self.rng.choice(self.hits or self.misses)
        if dice < 0.85 or not self.guarded:
            return found
        name = self.rng.choice(self.guarded)
        return {**found, name: f"none {self.number()}" if self.types[name] == "TEXT" else -self.number()}

    def adding(self, others: Sequence[Params], *, calm: bool) -> Params:
        dice = 1 if calm else self.rng.random()
        named = "session_id" if self.table == "directory" else "id"
        params = self.naming(self.rng.choice(self.rows))
        if dice < 0.15:
            return params
        if dice < 0.3 and others:
            # The same row again, with a new id if it has one.
            return {**others[-1], **({named: f"new {self.number()}"} if named in params else {})}
        new = {name: self.new(name) for name in {*KEYS, named}.intersection(params)}
        if self.table in ("recalls", "scheduled_messages"):
            without = f"SELECT id FROM jobs WHERE id NOT IN (SELECT job_id FROM {self.table})"
            new["job_id"] = self.rng.choice(self.seeded.execute(without).fetchall())["id"]
        return {**params, **new}

    def naming(self, row: dict[str, Value]) -> Params:
        """The parameters of a caller that has read the row, with new values to write."""
        read = row if self.adds else {name: row[name] for name in self.guarded}
        other = self.rng.choice(self.rows)
        closed = {name: other[name] for name in CLOSED.intersection(other)}
        known = {**closed, **read}
        return {name: known[name] if name in known else self.new(name) for name in self.query.parameters}

    def new(self, name: str) -> Value:
        number = self.number()
        if name == "fires":
            return self.rng.choice(("run-7", "run-none"))
        if name in OPTIONAL and self.rng.random() < 0.3:
            return None
        return f"{name} {number}" if self.types.get(name) == "TEXT" else number

    def number(self) -> int:
        """A number later than any moment in the seed data."""
        self.made += 1
        return 10_000 + self.made

    def finds_something(self, params: Params) -> bool:
        before = self.seeded.total_changes
        with undone(self.seeded):
            try:
                return bool(execute(self.seeded, (self.query, params))) or self.seeded.total_changes > before
            except StoreError:
                return False


@contextmanager
def undone(seeded: sqlite3.Connection) -> Iterator[None]:
    seeded.execute("BEGIN")
    try:
        yield
    finally:
        seeded.execute("ROLLBACK")


Way: TypeAlias = Callable[[sqlite3.Connection, Query, Sequence[Params]], Sequence[Rows]]


def one_by_one(seeded: sqlite3.Connection, query: Query, executions: Sequence[Params]) -> Sequence[Rows]:
    return [execute(seeded, (query, params)) for params in executions]


def outcome(way: Way, seeded: sqlite3.Connection, query: Query, executions: Sequence[Params]) -> Any:
    """The rows of each execution, and the tables after a change; or the error."""
    before = seeded.total_changes
    with undone(seeded):
        try:
            answers = [[cells(row) for row in rows] for rows in way(seeded, query, executions)]
            return answers, tables(seeded) if seeded.total_changes > before else None
        except StoreError as refused:
            return str(refused)


def cells(row: Any) -> list[tuple[str, Any]]:
    """The selected columns in order, without the extra column that identifies the execution."""
    names = [*row.keys()]
    while names[-1].startswith("segue_"):
        names.pop()
    return [(name, row[name]) for name in names]


def tables(seeded: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    reader = seeded.cursor()
    reader.row_factory = None
    names = reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name: reader.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}


def names_of(params: Params) -> Params:
    """The parameters that select a row."""
    return {name: value for name, value in params.items() if name == "id" or name.endswith("_id")}


def test_most_queries_may_be_rewritten() -> None:
    assert len(REWRITTEN) > 90
    assert {
        queries.sessions.lock_by_key,
        queries.turns.enqueue,
        queries.turns.finish,
        queries.events.append,
    } <= {*REWRITTEN}


@pytest.mark.parametrize("query", REWRITTEN, ids=lambda query: query.name)
def test_executions_in_one_statement_do_what_they_do_one_by_one(
    seeded: sqlite3.Connection, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With different parameters, and with all parameters equal except ids."""
    maker = ExecutionMaker(seeded, query)
    found: list[bool] = []
    for size, calm in [(7, True), *((size, False) for size in range(2, 8))]:
        executions = maker.executions(size, calm=calm)
        apart = outcome(one_by_one, seeded, query, executions)
        assert outcome(_execute_each, seeded, query, executions) == apart
        found += map(maker.finds_something, executions)
        alike = [{**executions[0], **names_of(params)} for params in executions]
        monkeypatch.setattr(sets, "ALIKE_FROM", 2)
        assert outcome(_execute_each, seeded, query, alike) == outcome(one_by_one, seeded, query, alike)
        monkeypatch.undo()
    if maker.adds or maker.guarded:
        assert found.count(True) > found.count(False) > 0, "most find what they look for, and not all"
