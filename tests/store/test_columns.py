"""Columns that `rows` reads by position have that position in every query."""

import re

import pytest

from segue.store import queries
from segue.store.queries import Query

SESSION, LIVE = (", ".join(queries.sessions.columns[name]) for name in ("session", "live"))
TURN, JOB = ", ".join(queries.turns.columns["turn"]), ", ".join(queries.jobs.columns["job"])
QUERIES = [query for table in ("sessions", "turns", "jobs") for query in getattr(queries, table)]
_LISTED = re.compile(r"\b(?:SELECT|RETURNING)\s+((?:\w+\.)?\w+(?:, (?:\w+\.)?\w+)+)")


def listed(query: Query) -> list[str]:
    """The lists of plain columns that a query selects or returns, without table names."""
    text = re.sub(r"\s+", " ", query.sqlite)
    return [re.sub(r"\w+\.", "", columns) for columns in _LISTED.findall(text)]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_that_gives_whole_records_lists_their_columns_in_order(query: Query) -> None:
    for columns in listed(query):
        if "chat_type" in columns:
            assert columns.startswith(f"{SESSION}, {LIVE}")
        elif "auto_commit_failures" in columns:
            assert columns in (f"last_message_at, last_seq, {LIVE}", f"{LIVE}, message_count")
        elif "stop_asked" in columns:
            assert columns.startswith(TURN)
        elif "revision" in columns:
            assert columns.startswith(JOB)


@pytest.mark.parametrize("whole", [f"{SESSION}, {LIVE}", TURN, JOB])
def test_there_are_such_queries(whole: str) -> None:
    assert sum(columns.startswith(whole) for query in QUERIES for columns in listed(query)) >= 4
