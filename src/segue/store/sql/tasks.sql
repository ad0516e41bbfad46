-- Tasks: pending → running → completed | failed | cancelled, and back to pending for a retry. The tasks of one
-- session run one at a time, in the order of its archives.
-- COALESCE around a guard: see turns.sql.

-- columns: task
id, account, user_id, type, session_id, session_key, archive_n, state, stage, attempt, not_before, fence,
result, error, created_at, updated_at

-- name: create
INSERT INTO tasks (id, account, user_id, type, session_id, session_key, archive_n, state, stage, not_before,
                   created_at, updated_at)
VALUES (:id, :account, :user_id, 'session_commit', :session_id, :session_key, :archive_n, 'pending', 'queued', :now,
        :now, :now);

-- name: by_id
SELECT /*columns task*/
FROM tasks
WHERE id = :id;

-- name: newest
-- When a session was last archived, of any owner.
SELECT created_at
FROM tasks
WHERE id = (SELECT MAX(id) FROM tasks);

-- name: newest_first
SELECT /*columns task*/
FROM tasks
WHERE account = :account AND user_id = :user_id AND id < :before_id
  AND (:state = '' OR state = :state) AND (:session_key = '' OR session_key = :session_key)
ORDER BY id DESC
LIMIT :limit;

-- name: newest_in_account
-- As above, of all users.
SELECT /*columns task*/
FROM tasks
WHERE account = :account AND id < :before_id
  AND (:state = '' OR state = :state) AND (:session_key = '' OR session_key = :session_key)
ORDER BY id DESC
LIMIT :limit;

-- name: lease
WITH ready AS MATERIALIZED (
    SELECT id
    FROM tasks
    WHERE state = 'pending' AND not_before <= :now
      AND NOT EXISTS (
          SELECT 1
          FROM tasks AS earlier
          WHERE earlier.session_id = tasks.session_id AND earlier.archive_n < tasks.archive_n
            AND earlier.state IN ('pending', 'running', 'cancelling')
      )
    ORDER BY not_before, id
    LIMIT :limit
    /*pg FOR NO KEY UPDATE SKIP LOCKED */
)
UPDATE tasks
SET state = 'running',
    holder = :holder,
    leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */),
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) + :lease_ms,
    fence = fence + 1,
    attempt = attempt + 1,
    updated_at = :now
WHERE id IN (SELECT id FROM ready) AND COALESCE(state, '') = 'pending'
RETURNING /*columns task*/;

-- name: next_due
SELECT MIN(not_before) AS not_before
FROM tasks
WHERE state = 'pending';

-- name: reach
-- A worker with an old fence finds out here, before it writes any result.
UPDATE tasks
SET stage = :stage, updated_at = :now
WHERE id = :id AND fence = :fence AND COALESCE(state, '') IN ('running', 'cancelling')
RETURNING state;

-- name: finish
UPDATE tasks
SET state = :state, stage = 'finished', result = :result, error = :error, holder = NULL, lease_until = NULL,
    updated_at = :now
WHERE id = :id AND fence = :fence AND COALESCE(state, '') IN ('running', 'cancelling')
RETURNING id;

-- name: requeue
UPDATE tasks
SET state = 'pending', not_before = :not_before, error = :error, holder = NULL, lease_until = NULL, updated_at = :now
WHERE id = :id AND fence = :fence AND COALESCE(state, '') = 'running'
RETURNING id;

-- name: expired
SELECT /*columns task*/
FROM tasks
WHERE state IN ('running', 'cancelling')
  AND (lease_until <= COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */)
       OR leased_at > :horizon)
ORDER BY lease_until
LIMIT :limit;

-- name: cancel
UPDATE tasks
SET state = CASE WHEN state = 'pending' THEN 'cancelled' ELSE 'cancelling' END, updated_at = :now
WHERE id = :id AND COALESCE(state, '') IN ('pending', 'running', 'cancelling')
RETURNING state;

-- name: fail_of_session
-- Its session is being deleted, with its archives.
UPDATE tasks
SET state = 'failed', stage = 'finished', error = :error, holder = NULL, lease_until = NULL, fence = fence + 1
WHERE session_id = :session_id AND state IN ('pending', 'running', 'cancelling');

-- name: prune_completed
DELETE FROM tasks
WHERE id IN (
    SELECT id
    FROM tasks
    WHERE state IN ('completed', 'failed', 'cancelled') AND updated_at < :before AND state = 'completed'
    ORDER BY updated_at
    LIMIT :limit
)
RETURNING id;

-- name: prune_failed
DELETE FROM tasks
WHERE id IN (
    SELECT id
    FROM tasks
    WHERE state IN ('completed', 'failed', 'cancelled') AND updated_at < :before
    ORDER BY updated_at
    LIMIT :limit
)
RETURNING id;
