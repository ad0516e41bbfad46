"""The columns that `rows` takes by place come in that place, wherever a query gives them."""

import re

import pytest

from segue.store import sql
from segue.store.sql import Query

SESSION = (
    "id, account, user_id, key, chat_type, title, timezone, when_busy, metadata, created_at, "
    "last_message_at, last_seq, unarmed, ready_at, holder, fence, "
)
LIVE = (
    "archived_seq, archives, live_messages, live_tokens, kept_tokens, keep_recent_count, auto_commit_policy, "
    "commit_at, last_auto_commit_at, auto_commit_last_error, auto_commit_last_error_at, auto_commit_failures"
)
TURN = (
    "id, session_id, via_id, run_id, state, rank, not_before, content, prompt, brief, call, source, "
    "joined_into, attempt, crashes, retries, crash, timeout_ms, acted, stop_asked, fence, draft, "
    "queued_at, started_at, finished_at, outcome, reply, error, usage"
)
JOB = (
    "id, session_id, account, kind, name, state, state_reason, protected, trigger, action, policy, slot, "
    "next_at, revision, run_count, failures, last_run_at, last_outcome, last_error, created_at, updated_at"
)

QUERIES = [query for table in ("sessions", "turns", "jobs") for query in getattr(sql, table)]
_GIVEN = re.compile(r"\b(?:SELECT|RETURNING)\s+((?:\w+\.)?\w+(?:, (?:\w+\.)?\w+)+)")


def given(query: Query) -> list[str]:
    """The lists of plain columns that it selects or returns, each without the names of tables."""
    text = re.sub(r"\s+", " ", query.sqlite)
    return [re.sub(r"\w+\.", "", columns) for columns in _GIVEN.findall(text)]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_that_gives_whole_records_lists_their_columns_in_order(query: Query) -> None:
    for columns in given(query):
        if "chat_type" in columns:
            assert columns.startswith(SESSION + LIVE)
        elif "auto_commit_failures" in columns:
            assert columns == f"last_message_at, last_seq, {LIVE}"
        elif "stop_asked" in columns:
            assert columns.startswith(TURN)
        elif "revision" in columns:
            assert columns.startswith(JOB)


@pytest.mark.parametrize("whole", [SESSION + LIVE, TURN, JOB])
def test_there_are_such_queries(whole: str) -> None:
    assert sum(columns.startswith(whole) for query in QUERIES for columns in given(query)) >= 4
