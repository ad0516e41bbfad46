-- Deliveries (outbox). A courier leases a delivery before it sends it, so that no other courier marks a
-- running send as failed, and a crash between sending and marking can be recognised.
-- COALESCE around a guard: see turns.sql.

-- columns: delivery
id, session_id, run_id, turn_id, channel, chat_id, content, source, state, not_before, holder, fence, attempt,
created_at, sent_at, sent_message_id, error, parts, logged, held_until, carries, joins

-- name: create
INSERT INTO deliveries (id, session_id, run_id, turn_id, channel, chat_id, content, parts, source, state, not_before,
                        created_at, logged, held_until, carries, joins)
VALUES (:id, :session_id, :run_id, :turn_id, :channel, :chat_id, :content, :parts, :source, 'pending', :not_before,
        :now, :logged, :held_until, :carries, :joins)
ON CONFLICT (id) DO NOTHING;

-- name: of_session
SELECT /*columns delivery*/
FROM deliveries
WHERE session_id = :session_id
ORDER BY id DESC
LIMIT :limit;

-- name: lease
-- The first waiting delivery of each session: while it is being sent or must wait, no later one overtakes it.
-- Nor does a delivery overtake a scheduled message that was due earlier and has not been fired yet. One that still
-- collects answers is overtaken, and those that it carries are not sent themselves.
WITH due AS MATERIALIZED (
    SELECT id
    FROM deliveries AS first
    WHERE state = 'pending' AND holder IS NULL AND not_before >= :since AND not_before <= :now AND joins IS NULL
      AND (CAST(:channels AS TEXT) = '*' OR REPLACE(:channels, ',' || channel || ',', '') <> :channels)
      AND NOT EXISTS (
          SELECT 1
          FROM deliveries AS earlier
          WHERE earlier.session_id = first.session_id AND earlier.state = 'pending' AND earlier.id < first.id
            AND earlier.joins IS NULL AND COALESCE(earlier.held_until, 0) <= :now
      )
      AND NOT EXISTS (
          SELECT 1
          FROM jobs
          WHERE jobs.session_id = first.session_id AND jobs.kind = 'message' AND jobs.next_at <= first.not_before
      )
    ORDER BY not_before, id
    LIMIT :limit
    /*pg FOR NO KEY UPDATE SKIP LOCKED */
)
UPDATE deliveries
SET holder = :holder,
    leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */),
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) + :lease_ms,
    fence = fence + 1,
    attempt = attempt + 1,
    held_until = NULL
WHERE id IN (SELECT id FROM due) AND COALESCE(state, '') = 'pending' AND holder IS NULL
RETURNING /*columns delivery*/,
          (SELECT sessions.metadata FROM sessions WHERE sessions.id = deliveries.session_id) AS session_metadata,
          (SELECT turns.metadata FROM turns WHERE turns.id = deliveries.turn_id) AS turn_metadata;

-- name: next_due
-- Walks the index from its start, past deliveries that wait for another one of their session.
SELECT not_before
FROM deliveries AS first
WHERE state = 'pending' AND holder IS NULL AND not_before >= :since AND joins IS NULL
  AND (CAST(:channels AS TEXT) = '*' OR REPLACE(:channels, ',' || channel || ',', '') <> :channels)
  AND NOT EXISTS (
      SELECT 1
      FROM deliveries AS earlier
      WHERE earlier.session_id = first.session_id AND earlier.state = 'pending' AND earlier.id < first.id
        AND earlier.joins IS NULL AND COALESCE(earlier.held_until, 0) <= first.not_before
  )
  AND NOT EXISTS (
      SELECT 1
      FROM jobs
      WHERE jobs.session_id = first.session_id AND jobs.kind = 'message' AND jobs.next_at <= first.not_before
  )
ORDER BY not_before, id
LIMIT 1;

-- name: first_waiting
-- Of any channel, and also if it waits for another one of its session.
SELECT MIN(not_before) AS not_before
FROM deliveries
WHERE state = 'pending' AND holder IS NULL AND not_before >= :since AND joins IS NULL;

-- name: first_leased
SELECT MIN(lease_until) AS lease_until
FROM deliveries
WHERE state = 'pending' AND holder IS NOT NULL AND lease_until >= :since;

-- name: mark_sent
UPDATE deliveries
SET state = 'sent', holder = NULL, sent_at = :now, sent_message_id = :sent_message_id, error = NULL
WHERE id = :id AND COALESCE(state, '') = 'pending' AND fence = :fence
RETURNING id;

-- name: mark_failed
UPDATE deliveries
SET state = 'failed', holder = NULL, error = :error
WHERE id = :id AND COALESCE(state, '') = 'pending' AND fence = :fence
RETURNING id;

-- name: requeue
UPDATE deliveries
SET holder = NULL, leased_at = NULL, lease_until = NULL, not_before = :not_before, error = :error
WHERE id = :id AND COALESCE(state, '') = 'pending' AND fence = :fence
RETURNING id;

-- name: put_back
-- Undoes a lease of the same transaction, and delays the delivery.
UPDATE deliveries
SET holder = NULL, leased_at = NULL, lease_until = NULL, attempt = attempt - 1, not_before = :not_before
WHERE id = :id AND COALESCE(state, '') = 'pending' AND fence = :fence;

-- name: open_for
-- The delivery of a session that collects answers and is sent between these moments, with one more to carry. The lock
-- keeps a courier from taking it before the answer is stored.
UPDATE deliveries
SET carries = carries + 1
WHERE id = (
        SELECT MIN(id)
        FROM deliveries AS collecting
        WHERE collecting.session_id = :session_id AND collecting.held_until IS NOT NULL
          AND collecting.held_until BETWEEN :earliest AND :latest
    )
  AND COALESCE(state, '') = 'pending' AND held_until IS NOT NULL
RETURNING id;

-- name: collecting
SELECT id, carries
FROM deliveries
WHERE session_id = :session_id AND held_until IS NOT NULL
ORDER BY id
/*pg FOR NO KEY UPDATE */;

-- name: send_now
UPDATE deliveries
SET held_until = NULL, not_before = :now, carries = :carries
WHERE id = :id AND held_until IS NOT NULL
RETURNING id;

-- name: join_instead
UPDATE deliveries
SET joins = :id
WHERE joins = :other;

-- name: drop_empty
DELETE FROM deliveries
WHERE id = :id AND held_until IS NOT NULL
RETURNING id;

-- name: carried
SELECT /*columns delivery*/
FROM deliveries
WHERE joins = :id
ORDER BY id;

-- name: held_until
SELECT held_until
FROM held_answers
WHERE turn_id = :turn_id;

-- name: fill
-- The text of a delivery that carries others, as it is sent.
UPDATE deliveries
SET content = :content, parts = :parts, source = :source
WHERE id = :id AND fence = :fence;

-- name: carried_sent
UPDATE deliveries
SET state = 'sent', sent_at = :now, sent_message_id = :sent_message_id
WHERE joins = :id AND COALESCE(state, '') = 'pending';

-- name: carried_failed
UPDATE deliveries
SET state = 'failed', error = :error
WHERE joins = :id AND COALESCE(state, '') = 'pending';

-- name: cancel
UPDATE deliveries
SET state = 'cancelled', error = :reason
WHERE id = :id AND COALESCE(state, '') = 'pending' AND holder IS NULL
RETURNING id, run_id;

-- name: expired
SELECT /*columns delivery*/
FROM deliveries
WHERE state = 'pending' AND holder IS NOT NULL AND lease_until >= :since
  AND (lease_until <= COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */)
       OR leased_at > :horizon)
  AND (CAST(:channels AS TEXT) = '*' OR REPLACE(:channels, ',' || channel || ',', '') <> :channels)
ORDER BY lease_until
LIMIT :limit;

-- name: renew
UPDATE deliveries
SET leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */),
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) + :lease_ms
WHERE id = :id AND COALESCE(state, '') = 'pending' AND fence = :fence;

-- name: stranded
-- Due for long and never leased: no process runs its channel.
SELECT /*columns delivery*/
FROM deliveries
WHERE state = 'pending' AND holder IS NULL AND not_before < :before AND attempt = 0 AND joins IS NULL
ORDER BY not_before, id
LIMIT :limit;

-- name: failed
SELECT /*columns delivery*/
FROM deliveries
WHERE state = 'failed' AND id > ''
ORDER BY id DESC
LIMIT :limit;

-- name: prune
DELETE FROM deliveries
WHERE id IN (
    SELECT id
    FROM deliveries
    WHERE state <> 'pending' AND created_at < :before
    ORDER BY created_at
    LIMIT :limit
)
RETURNING id;
