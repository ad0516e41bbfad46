"""Seed data: a database with rows in every table, to explain queries on or to change."""

from collections.abc import Container
from functools import partial

from segue.store.database import Transaction
from segue.store.open import open_database
from segue.store.queries import translate

# One text for both databases: the numbers from 0 become rows.
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < :last) "
SEEDS = [
    """
    INSERT INTO sessions (id, account, user_id, key, created_at, last_message_at, last_seq, ready_at,
                          user_waits, holder, leased_at, lease_until)
    SELECT 'session-' || n, 'account-' || (n % 3), 'user-' || (n % 500), 'websocket:' || n, n, n, 20,
           CASE WHEN n % :rare = 0 THEN n END, n % 2,
           CASE WHEN n % :rare = 1 THEN 'worker' END, CASE WHEN n % :rare = 1 THEN n END,
           CASE WHEN n % :rare = 1 THEN n END
    FROM numbers
    """,
    """
    INSERT INTO directory (session_id, account, user_id, key)
    SELECT 'session-' || n, 'account-' || (n % 3), 'user-' || (n % 500), 'websocket:' || n
    FROM numbers
    """,
    """
    INSERT INTO activity (session_id, account, user_id, active_at, unindexed)
    SELECT 'session-' || n, 'account-' || (n % 3), 'user-' || (n % 500), n,
           CASE WHEN n % :rare = 0 THEN 1 ELSE 0 END
    FROM numbers
    """,
    """
    INSERT INTO message_index (position, session_id, seq, terms)
    SELECT n, 'session-' || (n / 20), n % 20,
           /*pg array_to_tsvector(ARRAY['term' || (n % 100)]) */ /*lite 'term' || (n % 100) */
    FROM numbers
    """,
    """
    INSERT INTO turns (id, session_id, via_id, job_id, run_id, state, rank, not_before, content, timeout_ms,
                       stop_asked, queued_at, finished_at, outcome)
    SELECT 'turn-' || n, 'session-' || n, 'session-' || n, 'job-' || (n / 4), 'run-' || n,
           CASE n % :rare WHEN 0 THEN 'queued' WHEN 1 THEN 'running' ELSE 'done' END, n, n, 'go on', 1000,
           CASE WHEN n % 5000 = 1 THEN 1 ELSE 0 END, n, CASE WHEN n % :rare > 1 THEN n END,
           CASE WHEN n % :rare > 1 THEN 'ok' END
    FROM numbers
    """,
    """
    INSERT INTO agent_states (session_id, saved)
    SELECT 'session-' || n, '{}'
    FROM numbers
    """,
    """
    INSERT INTO model_waits (session_id, model, user_waits, account, since)
    SELECT 'session-' || n, 'model-' || (n % 3), n % 2, 'account-' || (n % 3), n
    FROM numbers
    """,
    """
    INSERT INTO calendars (session_id, token_hash, created_at)
    SELECT 'session-' || n, 'hash-' || n, n
    FROM numbers
    """,
    """
    INSERT INTO replaced_turns (turn_id, replaced_by, session_id)
    SELECT 'turn-' || n, 'turn-' || (n + 1), 'session-' || n
    FROM numbers
    """,
    """
    INSERT INTO files (id, session_id, name, media_type, size, created_at)
    SELECT 'file-' || n, 'session-' || n, 'cat.png', 'image/png', 1, n
    FROM numbers
    """,
    """
    INSERT INTO file_contents (file_id, content)
    SELECT 'file-' || n, CAST('x' AS /*pg BYTEA*/ /*lite BLOB*/)
    FROM numbers
    """,
    """
    INSERT INTO jobs (id, session_id, account, kind, name, state, trigger_kind, trigger, action, policy,
                      slot, next_at, failures, created_at, updated_at)
    SELECT 'job-' || n, 'session-' || (n / 10), 'account-' || (n % 3),
           CASE n % 10 WHEN 5 THEN 'recall' WHEN 6 THEN 'message' ELSE 'cron' END, 'go on',
           CASE WHEN n % 20 = 0 THEN 'ended' ELSE 'active' END,
           CASE n % 10 WHEN 6 THEN 'at' ELSE 'every' END, '{}', '{}', '{}',
           CASE WHEN n % 20 > 0 THEN n END, CASE WHEN n % 20 > 0 THEN n END, n % 3, n, n
    FROM numbers
    """,
    """
    INSERT INTO recalls (job_id, call_type, depth)
    SELECT 'job-' || n, 'once', 0
    FROM numbers
    """,
    """
    INSERT INTO day_sets (account, name, content, version, changed_at, known_until)
    SELECT 'account-' || (n % 500), 'set-' || n, '{}', 'new', n, (100000 + n) || ''
    FROM numbers
    """,
    """
    INSERT INTO session_days (session_id, account, day_set)
    SELECT 'session-' || n, 'account-' || (n % 500), 'set-' || n
    FROM numbers
    """,
    """
    INSERT INTO day_notices (session_id, day_set, notice)
    SELECT 'session-' || n, 'set-' || n, 'soon'
    FROM numbers
    """,
    """
    INSERT INTO job_days (job_id, account, day_set, version)
    SELECT 'job-' || n, 'account-' || (n % 500), 'set-' || n, 'old'
    FROM numbers
    """,
    """
    INSERT INTO session_budgets (session_id, budget)
    SELECT 'session-' || n, '{"runs":1,"per":"day"}'
    FROM numbers
    """,
    """
    INSERT INTO reservations (run_id, job_id, session_id, account, period, usd_micros, tokens, settled)
    SELECT 'run-' || n, 'job-' || (n / 4), 'session-' || (n / 40), 'account-' || (n % 3),
           CAST(10000 + n AS TEXT), 1, 1, CASE WHEN n % :rare > 1 THEN 1 ELSE 0 END
    FROM numbers
    """,
    """
    INSERT INTO push_subscriptions (id, account, user_id, endpoint, p256dh, auth, vapid_key, site, created_at)
    SELECT 'device-' || n, 'account-' || (n % 3), 'user-' || (n % 500), 'address', 'key', 'secret', 'vapid',
           '', n
    FROM numbers
    """,
    """
    INSERT INTO guests (channel, sender, code, came_at)
    SELECT 'channel-' || (n % 3), 'sender-' || n, 'code-' || n, n
    FROM numbers
    """,
    """
    INSERT INTO marks (channel, mark)
    SELECT 'channel-' || n, 'mark'
    FROM numbers
    """,
    """
    INSERT INTO scheduled_messages (job_id, chat_type, replaced_by)
    SELECT 'job-' || n, 'private', 'job-' || (n + 10)
    FROM numbers
    """,
    """
    INSERT INTO runs (id, job_id, session_id, slot, turn_id, delivery_id, queued_at, finished_at, outcome)
    SELECT 'run-' || n, 'job-' || (n / 4), 'session-' || (n / 40), n,
           CASE WHEN n % 3 > 0 THEN 'turn-' || n END, CASE WHEN n % 3 = 0 THEN 'delivery-' || n END, n,
           CASE WHEN n % 3 = 0 AND n % :rare > 1 THEN n END,
           CASE WHEN n % 3 = 0 AND n % :rare > 1 THEN 'ok' END
    FROM numbers
    """,
    """
    INSERT INTO events (session_id, seq, type, at, role)
    SELECT 'session-' || (n / 20), n % 20, 'message', n, CASE WHEN n % 2 = 0 THEN 'user' END
    FROM numbers
    """,
    """
    INSERT INTO deliveries (id, session_id, channel, chat_id, content, state, not_before, holder, leased_at,
                            lease_until, created_at)
    SELECT 'delivery-' || n, 'session-' || (n / 4), 'websocket', '1', 'hello',
           CASE WHEN n % :rare < 2 THEN 'pending' ELSE 'sent' END, n,
           CASE WHEN n % :rare = 1 THEN 'worker' END, CASE WHEN n % :rare = 1 THEN n END,
           CASE WHEN n % :rare = 1 THEN n END, n
    FROM numbers
    """,
    """
    INSERT INTO anchors (channel, chat_id, message_id, session_id, job_id, run_id, created_at)
    SELECT 'telegram', 'chat-' || (n / 4), 'message-' || n, 'session-' || (n / 4), 'job-' || n, 'run-' || n, n
    FROM numbers
    """,
    """
    INSERT INTO requests (account, user_id, name, digest, result, made_at)
    SELECT 'account-' || (n % 3), 'user-' || (n % 500), 'request-' || n, 'digest', '{}', n
    FROM numbers
    """,
    """
    INSERT INTO archives (session_id, n, first_seq, last_seq, message_count, tokens, reason, task_id, state,
                          summary, created_at)
    SELECT 'session-' || (n / 20), n % 20, n, n, 1, 1, 'manual', 'task-' || n, 'done', 'so far', n
    FROM numbers
    """,
    """
    INSERT INTO tasks (id, account, user_id, type, session_id, session_key, archive_n, state, stage,
                       not_before, holder, leased_at, lease_until, created_at, updated_at)
    SELECT 'task-' || n, 'account-' || (n % 3), 'user-' || (n % 500), 'session_commit',
           'session-' || (n / 20), 'websocket:1', n % 20, CASE n % :rare
               WHEN 0 THEN 'pending' WHEN 1 THEN 'running' WHEN 2 THEN 'failed' ELSE 'completed'
           END, 'queued', n, CASE WHEN n % :rare = 1 THEN 'worker' END, CASE WHEN n % :rare = 1 THEN n END,
           CASE WHEN n % :rare = 1 THEN n END, n, n
    FROM numbers
    """,
    """
    INSERT INTO memories (id, account, user_id, kind, topic, content, confidence, session_id, archive_n,
                          created_at, updated_at)
    SELECT 'memory-' || n, 'account-' || (n % 3), 'user-' || (n % 500),
           CASE WHEN n % 2 = 0 THEN 'fact' ELSE 'passage' END, 'topic ' || n, 'it is so', 80,
           'session-' || (n / 20), n % 20, n, n
    FROM numbers
    """,
    """
    INSERT INTO memory_terms (account, user_id, term, memory_id, weight)
    SELECT 'account-' || (n % 3), 'user-' || (n % 500), 'term-' || (n % 100), 'memory-' || n, 50
    FROM numbers
    """,
    """
    INSERT INTO memory_vectors (memory_id, account, user_id, model, bits, vector)
    SELECT 'memory-' || n, 'account-' || (n % 3), 'user-' || (n % 500), 'model-' || (n % 2), 'ff', 'AAAA'
    FROM numbers
    """,
    """
    INSERT INTO memory_changes (session_id, archive_n, place, memory_id, after, at)
    SELECT 'session-' || (n / 20), n % 20, 0, 'memory-' || n, '{}', n
    FROM numbers
    """,
]


async def seed(
    url: str, rows: int = 20_000, *, rare: int = 100, tables: Container[str] | None = None
) -> None:
    """Insert so many rows into each table, or each of `tables`; in most, one in `rare` is queued and one is
    running."""
    database = await open_database(url)
    try:
        for number, text in enumerate(SEEDS):
            if tables is None or text.split()[2] in tables:
                await database.run(partial(_insert, number, text, rows, rare))
    finally:
        await database.close()


def _insert(number: int, text: str, rows: int, rare: int) -> Transaction[None]:
    query = translate(f"seed.{number}", text.lstrip().replace("SELECT", f"{NUMBERS}SELECT", 1))
    yield query, {"last": rows - 1, "rare": rare}
