-- Repairs: the writes of `segue doctor --repair`. Each repeats the condition of the audit query whose finding it
-- repairs, so that a row that is right is never changed, and none deletes what a user wrote.
-- COALESCE around a guard: see turns.sql.

-- name: expire_lease_of_turn
-- The lease of a lane whose running turn belongs to no holder: it is reclaimed as after a crash.
UPDATE sessions
SET holder = COALESCE(holder, :holder),
    leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) - 1,
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) - 1,
    ready_at = NULL
WHERE id = (SELECT session_id FROM turns WHERE turns.id = :id)
  AND EXISTS (
      SELECT 1 FROM turns
      WHERE turns.id = :id AND COALESCE(turns.state, '') = 'running'
        AND (sessions.holder IS NULL OR sessions.fence <> turns.fence)
  )
RETURNING id;

-- name: expire_lease_without_a_turn
UPDATE sessions
SET leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) - 1,
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) - 1
WHERE id = :id AND COALESCE(holder, '') <> ''
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session_id = sessions.id AND turns.state = 'running')
RETURNING id;

-- name: session_of_turn
SELECT session_id AS id
FROM turns
WHERE id = :id;

-- name: let_go
-- The turns that wait with their session may run.
UPDATE turns
SET not_before = queued_at
WHERE session_id = :id AND state = 'queued' AND run_id IS NOT NULL
  AND not_before = (SELECT waiting_until FROM sessions WHERE sessions.id = :id);

-- name: end_waiting
UPDATE sessions
SET waiting_until = NULL
WHERE id = :id AND waiting_until IS NOT NULL;

-- name: hold
-- A scheduled turn waits as long as its session does.
UPDATE turns
SET not_before = (SELECT sessions.waiting_until FROM sessions WHERE sessions.id = turns.session_id)
WHERE id = :id AND state = 'queued' AND run_id IS NOT NULL
  AND not_before < (SELECT sessions.waiting_until FROM sessions WHERE sessions.id = turns.session_id)
RETURNING session_id AS id;

-- name: enter_directory
-- Not if another session has the key.
INSERT INTO directory (session_id, account, user_id, key)
SELECT sessions.id, sessions.account, sessions.user_id, sessions.key
FROM sessions
WHERE sessions.id = :id
  AND NOT EXISTS (
      SELECT 1 FROM directory AS other
      WHERE other.account = sessions.account AND other.user_id = sessions.user_id AND other.key = sessions.key
        AND other.session_id <> sessions.id
  )
ON CONFLICT (session_id) DO UPDATE
SET account = excluded.account, user_id = excluded.user_id, key = excluded.key
RETURNING session_id AS id;

-- name: enter_activity
INSERT INTO activity (session_id, account, user_id, active_at, unindexed)
SELECT sessions.id, sessions.account, sessions.user_id, COALESCE(sessions.last_message_at, sessions.created_at), 1
FROM sessions
WHERE sessions.id = :id
ON CONFLICT (session_id) DO UPDATE
SET account = excluded.account, user_id = excluded.user_id,
    active_at = CASE WHEN activity.active_at < excluded.active_at THEN excluded.active_at ELSE activity.active_at END
RETURNING session_id AS id;

-- name: close_run
-- A run whose turn is missing, or that never had one, cannot run any more.
UPDATE runs
SET outcome = 'interrupted', reason = :reason, finished_at = :now
WHERE id = :id AND outcome IS NULL AND delivery_id IS NULL
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = runs.turn_id)
RETURNING id;

-- name: close_run_by_delivery
UPDATE runs
SET outcome = (SELECT CASE state WHEN 'sent' THEN 'ok' WHEN 'failed' THEN 'error' ELSE 'cancelled' END
               FROM deliveries WHERE deliveries.id = runs.delivery_id),
    error = (SELECT deliveries.error FROM deliveries WHERE deliveries.id = runs.delivery_id),
    finished_at = :now
WHERE id = :id AND outcome IS NULL
  AND EXISTS (SELECT 1 FROM deliveries WHERE deliveries.id = runs.delivery_id AND deliveries.state <> 'pending')
RETURNING id;

-- name: send_alone
-- An answer that waits for a delivery that is missing or over is sent by itself.
UPDATE deliveries
SET joins = NULL
WHERE id = :id AND COALESCE(state, '') = 'pending' AND joins IS NOT NULL
  AND NOT EXISTS (
      SELECT 1 FROM deliveries AS carriers
      WHERE carriers.id = deliveries.joins AND carriers.session_id = deliveries.session_id
        AND COALESCE(carriers.state, '') = 'pending' AND carriers.joins IS NULL
  )
RETURNING session_id AS id;

-- name: recount_carried
UPDATE deliveries
SET carries = (SELECT COUNT(*) FROM deliveries AS answers WHERE answers.joins = deliveries.id)
WHERE id = :id AND COALESCE(state, '') = 'pending' AND joins IS NULL
  AND carries <> (SELECT COUNT(*) FROM deliveries AS answers WHERE answers.joins = deliveries.id)
RETURNING id;

-- name: recount_held
UPDATE sessions
SET held = (
        SELECT COUNT(*)
        FROM deliveries
        WHERE deliveries.session_id = sessions.id AND COALESCE(deliveries.joins, '') <> '' AND deliveries.state = 'pending'
    )
WHERE id = :id AND held <> (
        SELECT COUNT(*)
        FROM deliveries
        WHERE deliveries.session_id = sessions.id AND COALESCE(deliveries.joins, '') <> '' AND deliveries.state = 'pending'
    )
RETURNING id;

-- name: fail_archive
-- Its messages are in it and stay; only what memory would have learned from them is missing.
UPDATE archives
SET state = 'failed', error = :reason, finished_at = :now
WHERE session_id = :id AND state = 'extracting'
  AND NOT EXISTS (
      SELECT 1 FROM tasks
      WHERE tasks.id = archives.task_id AND COALESCE(tasks.state, '') IN ('pending', 'running', 'cancelling')
  )
RETURNING session_id AS id;
