"""Values read from other rows: a run's outcome from its turn, and a job's last run from its runs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from segue.model.action import Ask
from segue.model.states import FAILURES
from segue.store import queries
from segue.store.database import Transaction
from segue.store.migrate import MIGRATIONS, migrate
from segue.store.open import connect
from segue.store.queries import translate
from segue.store.queues import DueJob
from segue.store.store import Store
from segue.times.clock import SystemClock
from segue.times.trigger import Every, stored_json

MIGRATION = "0006_runs_are_told_by_their_turns.sql"
BEFORE = """
INSERT INTO sessions (id, account, user_id, key, created_at) VALUES ('s', 'local', 'me', 'web:1', 1);

INSERT INTO jobs (id, session_id, account, kind, name, state, trigger_kind, trigger, action, policy, slot,
                  next_at, failures, last_run_at, last_outcome, last_error, created_at, updated_at)
VALUES ('j', 's', 'local', 'cron', 'Look', 'active', 'every', 'EVERY', 'ASK', '{}', 9, 9, 1, 5, 'error',
        'no answer', 1, 1);

INSERT INTO turns (id, session_id, via_id, run_id, state, rank, not_before, content, timeout_ms, queued_at,
                   started_at, finished_at, outcome, error)
VALUES ('t1', 's', 's', 'j:1', 'failed', 1, 1, 'Look.', 1000, 1, 2, 5, 'error', 'no answer'),
       ('t2', 's', 's', 'j:2', 'queued', 2, 2, 'Look.', 1000, 2, NULL, NULL, NULL, NULL);

INSERT INTO runs (id, job_id, session_id, slot, turn_id, queued_at, finished_at, outcome, reason, error,
                  prompt_ref, prompt_vars, rendered_prompt)
VALUES ('j:0', 'j', 's', 0, 'gone', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
       ('j:1', 'j', 's', 1, 't1', 1, 5, 'error', 'because', 'no answer',
        '{"id":"cron.agent_turn.reminder","version":7,"sha256":"x"}', '{"zone":"UTC"}', 'Look!'),
       ('j:2', 'j', 's', 2, 't2', 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""


async def test_runs_that_ended_before_the_migration_keep_their_outcome(bare_url: str, tmp_path: Path) -> None:
    """A database of a version in which runs and jobs were written when a turn ended."""
    until_then = tmp_path / "until then"
    until_then.mkdir()
    for number in range(1, 6):
        (file,) = MIGRATIONS.glob(f"{number:04}_*.sql")
        shutil.copy(file, until_then)
    database = await connect(bare_url)
    await migrate(database, until_then)
    await database.run(_rows_of_before)
    await migrate(database)
    store = Store(database, SystemClock())
    waiting, ended, lost = await store.runs_of_job("j", 10)
    (due,) = await store.due_jobs(10, 10)
    assert "run_without_its_turn" not in await store.audit(horizon=0)
    await database.run(_a_run_of_nowhere)
    assert (await store.audit(horizon=0))["run_without_its_turn"] == ["j:3"]
    await database.close()
    assert isinstance(due, DueJob)
    assert (waiting.outcome, waiting.state) == (None, "queued")
    assert (ended.outcome, ended.reason, ended.error, ended.finished_at) == (
        "error",
        "because",
        "no answer",
        5,
    )
    assert (ended.prompt_ref and ended.prompt_ref.version, ended.rendered_prompt) == (7, "Look!")
    assert ended.prompt_vars == {"zone": "UTC"}
    assert lost.outcome == "cancelled"
    assert (due.runs_queued, due.runs_running) == (1, 0)
    last = (due.job.last_run_at, due.job.last_outcome, due.job.last_error, due.job.failures)
    assert last == (5, "error", "no answer", 1)


def _a_run_of_nowhere() -> Transaction[None]:
    columns, values = "id, job_id, session_id, slot, turn_id, queued_at", "'j:3', 'j', 's', 3, 't3', 3"
    yield translate("after.nowhere", f"INSERT INTO runs ({columns}) VALUES ({values})"), {}


def _rows_of_before() -> Transaction[None]:
    for number, text in enumerate(BEFORE.split(";")[:-1]):
        # With spaces: `:false` would be a parameter.
        trigger, action = json.dumps(stored_json(Every(60))), json.dumps(Ask("Look.").to_json())
        text = text.replace("EVERY", trigger).replace("ASK", action)
        yield translate(f"before.{number}", text), {}


@pytest.mark.parametrize(
    "text", [queries.jobs.fail.sqlite, (MIGRATIONS / MIGRATION).read_text()], ids=["count", "view"]
)
def test_what_counts_as_a_failure_is_the_same_in_the_query_and_in_the_view(text: str) -> None:
    (named,) = re.findall(r"\) IN \(([^)]*)\) THEN", text)
    assert set(re.findall(r"\w+", named)) == FAILURES


@pytest.mark.parametrize("query", [query for table in queries.TABLES for query in getattr(queries, table)])
def test_nothing_that_writes_reads_through_a_view(query: queries.Query) -> None:
    """Writes are combined if they name different tables, and a view would hide a table."""
    if query.postgres.startswith(("UPDATE", "INSERT")):
        assert not re.search(r"\b(\w+_told|\w+_with_\w+)\b", query.postgres)
