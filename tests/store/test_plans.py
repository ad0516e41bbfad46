"""Every query finds its rows by an index: what a query costs is what it touches, never what is stored.

The plans are those of a database with 20,000 rows in each table. SQLite is asked as production asks it,
without statistics. PostgreSQL has statistics, as autovacuum would collect them; it is asked for two plans,
the custom plan for given values and the generic plan for any. It may scan a table: with this many rows it
does so only where there is nothing better.
"""

import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from segue.store import queries
from segue.store.postgres.connection import BY_INDEX
from tests.postgres import NewDatabase, wait_for
from tests.store.seeds import seed

ALL = [
    query for table in queries.TABLES if table not in ("audit", "schema") for query in getattr(queries, table)
]
MANY = [query.many for query in ALL if query.many is not None]
"""The set forms, which only PostgreSQL has."""
QUERIES = [query for query in ALL if query not in MANY]

WALKS = {
    "tasks.expired": "over the archives that are being learned from just now",
    "turns.to_stop": "over the lanes that are held, or over the running turns that were asked to stop",
    "turns.lane_now": "over the turns that run just now, when a user asks why one does not",
    "turns.running_by_model": "over the turns that run just now, if a model has a limit",
}
"""Queries that walk an index from its start to its end, because so little is in it."""

IN_SQLITE = WALKS | {
    "events.users_said": "over the newest 2,000 events of a session, for a job whose condition has words",
    "sessions.count_leased": "over the lanes that are held, no further than the limit",
    "memories.neighbours": "over the one row of an inner query",
    "push.news": "over the devices of users, a second after something was said, and at most once a second",
    "message_index.unindexed": "over the first sessions of the index of those that wait for the indexer",
}

GUESSES = {
    "sessions.newest_in_account": "without values PostgreSQL guesses that a page is a tenth of an account",
    "sessions.overviews_in_account": "the same",
    "tasks.prune_completed": "the same of tasks",
    "tasks.prune_failed": "and of these",
    "reservations.prune": "and of reservations",
}
"""Queries that walk a table in the plan for any values, so expensive that PostgreSQL does not keep it."""

SEEN = WALKS | {
    "deliveries.prune": "PostgreSQL reads 20,000 narrow rows sooner than it looks up a hundred of them",
    "anchors.prune": "the same of anchors",
}

AMONG_FEW = {
    "jobs.at_work": "over the runs that wait or are under way, when a user lists the automations of a chat",
    "scheduled_messages.pending": "the same, when a message is scheduled",
    "sessions.overview": "over the recalls that are pending, when a user opens a chat",
    "sessions.overviews": "the same, when a user lists those that have one",
    "sessions.overviews_in_account": "the same, when the operator does",
    "turns.ask_to_stop": "over the running turns, when several are stopped in the same moment",
    "tasks.fail_of_session": "over the archives that are being learned from, when sessions are deleted",
}
"""Queries that scan all active rows when PostgreSQL believes that there are none; they run rarely."""

AT_REST = (
    "UPDATE sessions SET ready_at = NULL, user_waits = 0, holder = NULL, lease_until = NULL",
    "UPDATE turns SET state = 'done', stop_asked = 0, finished_at = 1",
    "UPDATE runs SET outcome = 'ok', finished_at = 1 WHERE delivery_id IS NOT NULL",
    "UPDATE jobs SET state = 'ended', slot = NULL, next_at = NULL",
    "UPDATE deliveries SET state = 'sent', holder = NULL, lease_until = NULL",
    "UPDATE tasks SET state = 'completed', holder = NULL, lease_until = NULL",
)
"""After these nothing is queued or running."""

VALUES = {
    "account": "account-1",
    "terms": '["term-1","term-2"]',
    "message_index.terms": "term1",
    "term": "term-1",
    "ids": '["memory-1","memory-2"]',
    "last": "100010",
    "model": "model-1",
    "most": "100",
    "rows": "100",
    "user_id": "user-1",
    "key": "websocket:1",
    "holder": "worker",
    "name": "request-1",
    "limit": "100",
    "reservations.since": "29990",
    "job_since": "29990",
    "session_since": "29990",
    "account_since": "29990",
    "reservations.before": "10010",
    "period": "29999",
}
"""Values of parameters by name. Of the others, `…_id` names a row and the rest are moments."""


TWICE = "{{{0},{0}}}"
"""How a value is written where a query takes arrays."""

IMPORTED = """
    INSERT INTO memories (id, account, user_id, kind, topic, content, confidence, session_id, archive_n,
                          source_seq, created_at, updated_at)
    SELECT 'memory-' || n, 'account-1', 'user-1', 'passage', 'passage ' || n, 'user: hello', 100,
           repeat('a long name of a session ', 4) || n / 10, 1, n, n, n
    FROM generate_series(1, 20000) AS n
"""
"""20,000 passages of one user in 2,000 sessions."""


@pytest.fixture(scope="module")
def full_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 rows in each table, which no test changes."""
    path = tmp_path_factory.mktemp("full") / "segue.db"
    wait_for(seed(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="module")
def without_statistics(new_database: NewDatabase) -> str:
    """The same in PostgreSQL, where autovacuum must not collect statistics. No test changes it."""
    url = new_database()
    wait_for(seed(url))
    wait_for(leave_unanalysed(url))
    return url


@pytest.fixture(scope="module")
def with_statistics(new_database: NewDatabase, without_statistics: str) -> str:
    """A copy with statistics, which no test changes. To insert the rows again would take longer."""
    url = new_database(copy_of=without_statistics)
    wait_for(analyse(url))
    return url


@pytest.fixture
def to_change(new_database: NewDatabase, without_statistics: str) -> str:
    return new_database(copy_of=without_statistics)


async def test_sqlite_finds_every_row_by_an_index(full_sqlite: Path) -> None:
    with closing(sqlite3.connect(full_sqlite)) as connection:
        walks = {query.name: walks_in_sqlite(connection, query) for query in QUERIES}
    assert surprising(walks, IN_SQLITE) == {}


async def test_postgres_finds_every_row_by_an_index(with_statistics: str) -> None:
    for mode, known in {"force_custom_plan": SEEN, "force_generic_plan": SEEN | GUESSES}.items():
        async with planning(with_statistics, mode) as connection:
            walks = {query.name: await walks_in_postgres(connection, query) for query in QUERIES}
        assert surprising(walks, known) == {}, mode


async def test_postgres_finds_the_rows_of_many_callers_by_an_index(with_statistics: str) -> None:
    """With the settings of a writer: a statement that takes the parameters of all of them as arrays."""
    for mode in ("force_custom_plan", "force_generic_plan"):
        async with planning(with_statistics, mode) as connection, connection.transaction():
            await connection.execute(
                "; ".join(f"SET LOCAL {name} = {value}" for name, value in BY_INDEX.items())
            )
            walks = {query.name: await walks_in_postgres(connection, query, TWICE) for query in MANY}
        assert queries.turns.finish_many.name in walks
        assert {name: found for name, found in walks.items() if found} == {}, mode


async def test_a_row_selected_by_id_is_found_by_id_even_if_nothing_is_active(to_change: str) -> None:
    """If a table is analysed while nothing is queued, the index of queued rows seems to be empty and cheap to
    scan. But it keeps entries of rows that left it for as long as any transaction may see them."""
    await analyse(to_change, AT_REST)
    for mode in ("force_custom_plan", "force_generic_plan"):
        async with planning(to_change, mode) as connection, connection.transaction():
            await connection.execute(
                "; ".join(f"SET LOCAL {name} = {value}" for name, value in BY_INDEX.items())
            )
            alone = {query.name: await walks_in_postgres(connection, query) for query in QUERIES}
            together = {query.name: await walks_in_postgres(connection, query, TWICE) for query in MANY}
        assert {
            name: found for name, found in alone.items() if found and name not in SEEN | AMONG_FEW
        } == {}, mode
        assert {name: found for name, found in together.items() if found} == {}, mode


async def test_a_session_is_found_by_its_key_before_there_are_statistics(without_statistics: str) -> None:
    """A new database has none, and for a user with ten thousand sessions all of them would be read."""
    connection = await asyncpg.connect(without_statistics)
    lookups = [queries.sessions.by_key, queries.sessions.lock_by_key, queries.sessions.in_account]
    for query in (*lookups, queries.sessions.lock_in_account):
        plan = await plan_in_postgres(connection, query)
        assert "directory_by_key" in [node.get("Index Name") for node in _nodes(plan)], query.name
    await connection.close()


async def test_neighbours_of_passages_are_found_in_their_order_before_there_are_statistics(
    migrated_postgres_url: str,
) -> None:
    """After an import there are none, and all passages of a user would be sorted for each one found."""
    connection = await asyncpg.connect(migrated_postgres_url)
    await connection.execute(IMPORTED)
    plan = await plan_in_postgres(connection, queries.memories.neighbours)
    await connection.close()
    assert [*sorts_under_a_limit(plan)] == []


async def test_the_list_of_sessions_is_read_in_its_order(full_sqlite: Path, to_change: str) -> None:
    """A user with ten thousand sessions waits for a page, not for a sort of all."""
    listing = [
        queries.sessions.newest_first,
        queries.sessions.overviews,
        queries.sessions.newest_in_account,
        queries.sessions.overviews_in_account,
    ]
    with closing(sqlite3.connect(full_sqlite)) as connection:
        assert {query.name: sorts_in_sqlite(connection, query) for query in listing} == {
            query.name: [] for query in listing
        }
    # A dozen rows may be sorted; what matters is a user who has many.
    await analyse(to_change, ["UPDATE activity SET account = 'account-1', user_id = 'user-1'"])
    async with planning(to_change, "force_custom_plan") as asked:
        for query in listing:
            sorts = [*sorts_under_a_limit(await plan_in_postgres(asked, query))]
            # A session has few jobs, and the next of them is found by sorting them.
            assert [each for each in sorts if "'jobs" not in each] == [], query.name


async def test_a_list_of_jobs_is_planned_once_before_there_are_statistics(without_statistics: str) -> None:
    """Planning takes longer than reading, and PostgreSQL would plan each call with a small limit again."""
    connection = await asyncpg.connect(without_statistics)
    query = queries.jobs.of_session
    few = {name: "1" if name == "limit" else _value(query, name) for name in query.parameters}
    quoted = ", ".join(f"'{value}'" for value in few.values())
    await connection.execute(f"PREPARE listing AS {query.postgres}")
    for _ in range(20):
        await connection.execute(f"EXECUTE listing({quoted})")
    asked = "SELECT custom_plans FROM pg_prepared_statements WHERE name = 'listing'"
    assert await connection.fetchval(asked) == 5, "as many as PostgreSQL tries"
    await connection.close()


async def test_deleting_a_session_finds_its_rows_by_an_index(migrated_sqlite_url: str) -> None:
    """A plan does not show what a foreign key does when a row is deleted."""
    with closing(sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))) as connection:
        assert list(columns_without_index(connection)) == []


def surprising(walks: dict[str, list[str]], known: dict[str, str]) -> dict[str, list[str]]:
    """Scans without a listed reason, and reasons without a scan."""
    return {name: lines for name, lines in walks.items() if bool(lines) != (name in known)}


def plan_in_sqlite(connection: sqlite3.Connection, query: queries.Query) -> list[tuple[Any, ...]]:
    values = query.pick_positional(dict.fromkeys(query.parameters, "1"))
    return connection.execute(f"EXPLAIN QUERY PLAN {query.positional}", values).fetchall()


def walks_in_sqlite(connection: sqlite3.Connection, query: queries.Query) -> list[str]:
    """The SCAN steps over tables; a scan of a result of the query itself does not count."""
    plan = plan_in_sqlite(connection, query)
    made = set(re.findall(r"(\w+) AS MATERIALIZED|AS (waiting|counted|found)\b", query.sqlite))
    names = {name for pair in made for name in pair} | {"CONSTANT", "json_each"}
    scans = [line for *_, line in plan if line.startswith("SCAN") and line.split()[1] not in names]
    return [line for line in scans if not re.search(r"VIRTUAL TABLE INDEX \d+:M", line)]  # a full-text index


def sorts_in_sqlite(connection: sqlite3.Connection, query: queries.Query) -> list[str]:
    """Sorts of anything but a page."""
    plan = plan_in_sqlite(connection, query)
    pages = {number for number, *_, line in plan if line.startswith("MATERIALIZE")} or {0}
    return [line for _, parent, _, line in plan if parent in pages and "TEMP B-TREE" in line]


async def leave_unanalysed(url: str) -> None:
    connection = await asyncpg.connect(url)
    for table in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        await connection.execute(f"ALTER TABLE {table['tablename']} SET (autovacuum_enabled = off)")
    await connection.close()


async def analyse(url: str, first: Sequence[str] = ()) -> None:
    connection = await asyncpg.connect(url)
    for statement in (*first, "VACUUM ANALYZE"):
        await connection.execute(statement)
    await connection.close()


@asynccontextmanager
async def planning(url: str, mode: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url, server_settings={"plan_cache_mode": mode})
    try:
        yield connection
    finally:
        await connection.close()


async def plan_in_postgres(
    connection: "asyncpg.Connection[Any]", query: queries.Query, given: str = "{}"
) -> dict[str, Any]:
    """`given`: how a value is written."""
    await connection.execute(f"PREPARE asked AS {query.postgres}")
    values = ", ".join(f"'{given.format(_value(query, name))}'" for name in query.parameters)
    answer = await connection.fetchval(
        f"EXPLAIN (FORMAT JSON) EXECUTE asked{f'({values})' if values else ''}"
    )
    await connection.execute("DEALLOCATE asked")
    plan: dict[str, Any] = json.loads(answer)[0]["Plan"]
    return plan


def sorts_under_a_limit(plan: dict[str, Any], *, limited: bool = False) -> Iterator[str]:
    if limited and plan["Node Type"] == "Sort":
        yield f"Sort {plan['Sort Key']}"
    for inner in plan.get("Plans", ()):
        yield from sorts_under_a_limit(inner, limited=limited or plan["Node Type"] == "Limit")


async def walks_in_postgres(
    connection: "asyncpg.Connection[Any]", query: queries.Query, given: str = "{}"
) -> list[str]:
    return [
        f"{node['Node Type']} {node.get('Relation Name', '')} {node.get('Index Name', '')}".strip()
        for node in _nodes(await plan_in_postgres(connection, query, given))
        if node["Node Type"] == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node)
    ]


def _value(query: queries.Query, name: str) -> str:
    table = query.name.partition(".")[0]
    if name == "id" or name.endswith("_id") or (table, name) == ("runs", "after"):
        row = {"id": table.rstrip("s"), "via_id": "session", "host_id": "turn", "after": "job"}
        return f"{row.get(name, name.removesuffix('_id'))}-1"
    return VALUES.get(f"{table}.{name}", VALUES.get(name, "100"))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All nodes, except unfiltered ones under a limit: they read only the first rows of an index."""
    yield plan
    for inner in plan.get("Plans", ()):
        if plan["Node Type"] != "Limit" or "Filter" in inner or inner["Node Type"] == "Seq Scan":
            yield from _nodes(inner)


def columns_without_index(connection: sqlite3.Connection) -> Iterator[str]:
    """Columns that refer to another table, with no index of all rows that begins with them."""
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        firsts = {
            connection.execute(f"PRAGMA index_info({index})").fetchone()[2]
            for _, index, _, _, partial in connection.execute(f"PRAGMA index_list({table})").fetchall()
            if not partial
        }
        for _, _, _, column, *_ in connection.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            if column not in firsts:
                yield f"{table}.{column}"
