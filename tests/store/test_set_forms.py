"""Set forms: `finish_many` does for many callers what `finish` does for each, one after the other."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from segue.store import queries
from segue.store.database import Params
from segue.store.postgres.group import execute
from segue.store.queries import Query
from tests.postgres import NewDatabase, wait_for
from tests.store.seeds import seed

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

QUERIES = [query for table in queries.TABLES for query in getattr(queries, table)]
WITH_SET_FORM = [query for query in QUERIES if query.many is not None]
TABLES = ("sessions", "activity", "turns", "jobs", "runs", "events")

GROWTH: Params = {"events": 3, "messages": 2, "tokens": 40, "kept_tokens": None, "commit_at": 77}
NO_GROWTH: Params = {"events": 1, "messages": 0, "tokens": 0, "kept_tokens": 9, "commit_at": None}
TURN: Params = {
    "via_id": "session-1",
    "job_id": None,
    "run_id": None,
    "rank": 1,
    "not_before": 5,
    "content": "go on",
    "prompt": None,
    "brief": None,
    "call": None,
    "source": "{}",
    "replaces": None,
    "joins": 0,
    "waits": 1,
    "retries": 2,
    "crash": "auto",
    "timeout_ms": 1000,
    "now": 5,
    "metadata": None,
    "parts": None,
    "reserved": None,
}
END: Params = {
    "state": "done",
    "outcome": "ok",
    "reason": None,
    "reply": "yes",
    "error": None,
    "usage": "{}",
    "prompt_version": 2,
    "rendered_prompt": None,
    "now": 900,
}
SLOT: Params = {
    "slot": 500,
    "next_at": None,
    "state": "active",
    "state_reason": None,
    "fires": "run-7",
    "fired": 1,
    "replied": None,
    "now": 9,
}
JOB: Params = {
    "account": "account-1",
    "kind": "cron",
    "name": "go on",
    "protected": 0,
    "trigger_kind": "every",
    "trigger": "{}",
    "action": "{}",
    "policy": "{}",
    "slot": 9,
    "next_at": 9,
    "now": 5,
}
RUN: Params = {
    "session_id": "session-1",
    "turn_id": None,
    "delivery_id": None,
    "reason": None,
    "lateness_ms": 3,
    "missed_count": 0,
    "now": 9,
}
EVENT: Params = {
    "type": "message",
    "turn_id": None,
    "via_id": None,
    "at": 5,
    "role": "user",
    "content": "Hello",
    "source": None,
    "body": "{}",
    "tokens": 4,
}

# In the seed data every fourth session is ready with a queued turn, and the next is held with a running turn.
EXECUTIONS: dict[str, list[Params]] = {
    "sessions.lock": [{"id": "session-7"}, {"id": "none"}, {"id": "session-3"}],
    "sessions.lock_by_key": [
        {"account": "account-1", "user_id": "user-7", "key": "websocket:7"},
        {"account": "account-2", "user_id": "user-7", "key": "websocket:7"},
        {"account": "account-0", "user_id": "user-3", "key": "websocket:3"},
    ],
    "sessions.hold": [
        {"id": "session-5", "holder": "worker", "fence": 0},
        {"id": "session-9", "holder": "worker", "fence": 1},
        {"id": "session-1", "holder": "worker", "fence": 0},
        {"id": "session-13", "holder": "another", "fence": 0},
        {"id": "session-4", "holder": "worker", "fence": 0},
    ],
    "sessions.release": [
        {"id": "session-5", "holder": "worker", "fence": 0, **GROWTH},
        {"id": "session-9", "holder": "worker", "fence": 1, **GROWTH},
        {"id": "session-1", "holder": "worker", "fence": 0, **NO_GROWTH},
        {"id": "session-4", "holder": "", "fence": 0, **NO_GROWTH},
    ],
    "sessions.grow": [
        {"id": "session-5", **GROWTH},
        {"id": "none", **GROWTH},
        {"id": "session-1", **NO_GROWTH},
    ],
    "activity.touch": [
        {"id": "session-5", "now": 9_999_999_999_999},
        {"id": "none", "now": 9_999_999_999_999},
        {"id": "session-1", "now": 1},
    ],
    "activity.logged": [
        {"id": "session-5", "now": 9_999_999_999_999, "news": 2, "job_said_at": 7},
        {"id": "none", "now": 9_999_999_999_999, "news": 1, "job_said_at": 0},
        {"id": "session-1", "now": 0, "news": 0, "job_said_at": 0},
    ],
    "turns.start_next": [
        {"session_id": "session-8", "fence": 3, "acted": 0, "now": 1000},
        {"session_id": "session-4", "fence": 4, "acted": 1, "now": 1000},
        {"session_id": "session-12", "fence": 3, "acted": 0, "now": 1},
        {"session_id": "session-2", "fence": 3, "acted": 0, "now": 1000},
    ],
    "turns.finish": [
        {"id": "turn-5", "fence": 0, **END},
        {"id": "turn-9", "fence": 1, **END},
        {"id": "turn-1", "fence": 0, **END, "reply": None},
        {"id": "turn-4", "fence": 0, **END},
    ],
    "turns.enqueue": [
        {"id": "new 2", "session_id": "session-2", **TURN},
        {"id": "turn-7", "session_id": "session-7", **TURN},
        {"id": "new 1", "session_id": "session-1", **TURN, "metadata": "{}"},
    ],
    "turns.waiting_in": [
        {"session_id": "session-8"},
        {"session_id": "session-2"},
        {"session_id": "session-4"},
    ],
    "jobs.create": [
        {"id": "new 2", "session_id": "session-2", **JOB},
        {"id": "job-7", "session_id": "session-7", **JOB},
        {"id": "new 1", "session_id": "session-1", **JOB, "slot": None, "next_at": None},
    ],
    "jobs.take": [
        {"id": "job-7", "revision": 1, **SLOT},
        {"id": "job-8", "revision": 5, **SLOT},
        {"id": "job-20", "revision": 1, **SLOT},
        {"id": "job-3", "revision": 1, **SLOT, "fires": "none", "next_at": 600, "replied": "{}"},
    ],
    "runs.open": [
        {"id": "new 2", "job_id": "job-2", "slot": 9_000, **RUN},
        {"id": "run-7", "job_id": "job-1", "slot": 9_000, **RUN},
        {"id": "new 3", "job_id": "job-1", "slot": 7, **RUN},
        {"id": "new 1", "job_id": "job-1", "slot": 9_001, **RUN},
    ],
    "events.append": [
        {"session_id": "session-2", "seq": 22, **EVENT},
        {"session_id": "session-2", "seq": 21, **EVENT},
        {"session_id": "session-1", "seq": 21, **EVENT, "role": None, "content": None},
    ],
}
"""Some of them find their row and some do not, because of a guard or because there is none."""


@pytest.fixture(scope="module")
def seeded(new_database: NewDatabase) -> str:
    """Rows of every table. What a test changes it rolls back."""

    async def fill(url: str) -> None:
        await seed(url, 100, rare=4)
        connection = await asyncpg.connect(url)
        await connection.execute(
            "UPDATE turns SET fence = 0; UPDATE sessions SET commit_at = 50, live_tokens = 5;"
            "UPDATE turns SET waits = 1 WHERE id = 'turn-4'"
        )
        await connection.close()

    url = new_database()
    wait_for(fill(url))
    return url


@pytest.fixture
async def connection(seeded: str) -> AsyncIterator["Connection"]:
    connection = await asyncpg.connect(seeded)
    yield connection
    await connection.close()


async def outcome(
    connection: "Connection", query: Query, executions: Sequence[Params]
) -> tuple[list[list[dict[str, Any]]], dict[str, list[Any]]]:
    """The rows of each execution, without their number, and the tables afterwards."""
    transaction = connection.transaction()
    await transaction.start()
    answers = await execute(connection, query, executions)
    tables: dict[str, list[Any]] = {
        name: await connection.fetch(f"SELECT * FROM {name} ORDER BY 1, 2") for name in TABLES
    }
    await transaction.rollback()
    rows = [[dict(row) for row in each] for each in answers]
    for row in (row for each in rows for row in each):
        row.pop("execution", None)
    return rows, tables


@pytest.mark.parametrize("query", WITH_SET_FORM, ids=lambda query: query.name)
async def test_a_set_form_does_what_its_query_does_one_by_one(connection: "Connection", query: Query) -> None:
    executions = EXECUTIONS[query.name]
    together = await outcome(connection, query, executions)
    assert together == await outcome(connection, replace(query, many=None), executions)
    if query.returns_rows:
        assert [] in together[0], "one finds nothing"
        assert sum(map(bool, together[0])) > 1, "and others do"


@pytest.mark.parametrize("query", WITH_SET_FORM, ids=lambda query: query.name)
def test_a_set_form_takes_the_parameters_of_its_query(query: Query) -> None:
    assert query.many is not None
    assert sorted(query.many.parameters) == sorted(query.parameters)
    assert not query.many.sqlite


def test_every_set_form_has_a_query() -> None:
    named = [query.name for query in QUERIES if query.name.endswith("_many")]
    assert sorted(named) == sorted(f"{query.name}_many" for query in WITH_SET_FORM)
