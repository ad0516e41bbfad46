-- Sessions and their lanes. A transaction that changes a lane locks the session's row first (lock_…, hold,
-- lease, or an UPDATE of the row) and reads the turns only then: under READ COMMITTED the second statement
-- sees every turn that was admitted before the lock was acquired, so no wake-up is lost.
--
-- FOR NO KEY UPDATE instead of FOR UPDATE: it does not block inserts of rows that refer to the session.
-- COALESCE around a guard: see turns.sql.

-- columns: session
id, account, user_id, key, chat_type, title, timezone, when_busy, metadata, created_at, last_message_at,
last_seq, unarmed, ready_at, holder, fence, waiting_until, quiet, digest, held

-- columns: live
-- What is not archived, and the state of archiving.
archived_seq, archives, live_messages, live_tokens, kept_tokens, keep_recent_count, auto_commit_policy, commit_at,
last_auto_commit_at, auto_commit_last_error, auto_commit_last_error_at, auto_commit_failures

-- columns: overview
message_count, last_line, last_line_at, queued, automations, recall_id, recall_state, recall_trigger,
recall_action, recall_slot, recall_next_at, recall_created_at, recall_updated_at, recall_call_type,
recall_comment, recall_turn_state, recall_waits_since

-- columns: happened
-- When something last happened in the session `counted`, what its owner has not read, and what happens next: a job of
-- a user, a recall or a written message.
COALESCE(
    (SELECT activity.active_at FROM activity WHERE activity.session_id = counted.id),
    counted.created_at
) AS active_at,
COALESCE((SELECT news - read_news FROM activity WHERE activity.session_id = counted.id), 0) AS unread,
(SELECT MIN(jobs.next_at)
 FROM jobs
 WHERE jobs.session_id = counted.id AND jobs.state = 'active' AND jobs.kind IN ('cron', 'recall', 'message')
) AS upcoming_at,
(SELECT jobs.name
 FROM jobs
 WHERE jobs.session_id = counted.id AND jobs.state = 'active' AND jobs.kind IN ('cron', 'recall', 'message')
   AND jobs.next_at IS NOT NULL
 ORDER BY jobs.next_at, jobs.id
 LIMIT 1
) AS upcoming_name,
(SELECT session_days.day_set FROM session_days WHERE session_days.session_id = counted.id) AS day_set,
(SELECT session_budgets.budget FROM session_budgets WHERE session_budgets.session_id = counted.id) AS budget

-- name: create
INSERT INTO sessions (id, account, user_id, key, chat_type, title, timezone, when_busy, metadata, created_at,
                      auto_commit_policy, keep_recent_count)
VALUES (:id, :account, :user_id, :key, :chat_type, :title, :timezone, :when_busy, :metadata, :now,
        :auto_commit_policy, :keep_recent_count);

-- name: by_key
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = (
        SELECT session_id
        FROM directory
        WHERE account = :account AND user_id = :user_id AND key = :key
    );

-- name: in_account
-- The session of this user, else the only session of that key in the account.
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = COALESCE(
        (SELECT session_id
         FROM directory
         WHERE account = :account AND user_id = :user_id AND key = :key),
        (SELECT session_id
         FROM directory
         WHERE account = :account AND key = :key
           AND user_id = (SELECT MIN(user_id) FROM directory WHERE account = :account AND key = :key)
           AND user_id = (SELECT MAX(user_id) FROM directory WHERE account = :account AND key = :key))
    );

-- name: by_id
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = :id;

-- name: newest_first
-- By activity; the system's own sessions, which are no conversations, have none.
WITH page AS MATERIALIZED (
    SELECT session_id, active_at
    FROM activity
    WHERE account = :account AND user_id = :user_id
    ORDER BY active_at DESC, session_id DESC
    LIMIT :limit
)
SELECT /*columns session*/, /*columns live*/
FROM page
JOIN sessions ON sessions.id = page.session_id
ORDER BY page.active_at DESC, page.session_id DESC;

-- name: newest_in_account
-- As above, of all users.
WITH page AS MATERIALIZED (
    SELECT session_id, active_at
    FROM activity
    WHERE account = :account
    ORDER BY active_at DESC, session_id DESC
    LIMIT :limit
)
SELECT /*columns session*/, /*columns live*/
FROM page
JOIN sessions ON sessions.id = page.session_id
ORDER BY page.active_at DESC, page.session_id DESC;

-- name: overview
SELECT /*columns session*/, /*columns live*/, /*columns overview*/, /*columns happened*/
FROM sessions_with_counts AS counted
WHERE id = :id;

-- name: counts
SELECT /*columns live*/, message_count
FROM sessions_with_counts AS counted
WHERE id = :id;

-- name: overviews
-- One page, newest first, without the system's own; counts are computed for the sessions of the page only.
WITH page AS MATERIALIZED (
    SELECT session_id, active_at
    FROM activity
    WHERE account = :account AND user_id = :user_id
      AND active_at <= :before
      AND (active_at < :before OR session_id < :before_id)
      AND (:pending_recall = 0 OR EXISTS (
          SELECT 1
          FROM current_recalls
          WHERE current_recalls.session_id = activity.session_id AND current_recalls.recall_id IS NOT NULL
      ))
    ORDER BY active_at DESC, session_id DESC
    LIMIT :limit
)
SELECT /*columns session*/, /*columns live*/, /*columns overview*/, /*columns happened*/
FROM page
JOIN sessions_with_counts AS counted ON counted.id = page.session_id
ORDER BY page.active_at DESC, page.session_id DESC;

-- name: overviews_in_account
-- As above, of all users.
WITH page AS MATERIALIZED (
    SELECT session_id, active_at
    FROM activity
    WHERE account = :account
      AND active_at <= :before
      AND (active_at < :before OR session_id < :before_id)
      AND (:pending_recall = 0 OR EXISTS (
          SELECT 1
          FROM current_recalls
          WHERE current_recalls.session_id = activity.session_id AND current_recalls.recall_id IS NOT NULL
      ))
    ORDER BY active_at DESC, session_id DESC
    LIMIT :limit
)
SELECT /*columns session*/, /*columns live*/, /*columns overview*/, /*columns happened*/
FROM page
JOIN sessions_with_counts AS counted ON counted.id = page.session_id
ORDER BY page.active_at DESC, page.session_id DESC;

-- name: lock_by_key
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = (
        SELECT session_id
        FROM directory
        WHERE account = :account AND user_id = :user_id AND key = :key
    )
/*pg FOR NO KEY UPDATE */;

-- name: lock_by_key_many
/*pg
SELECT /*columns session*/, /*columns live*/, execution
FROM unnest(CAST(:account AS TEXT[]), CAST(:user_id AS TEXT[]), CAST(:key AS TEXT[]))
     WITH ORDINALITY AS given (its_account, its_user, its_key, execution)
JOIN sessions ON id = (
        SELECT session_id
        FROM directory
        WHERE directory.account = its_account AND directory.user_id = its_user AND directory.key = its_key
    )
FOR NO KEY UPDATE OF sessions
*/;

-- name: lock_in_account
-- As `in_account`.
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = COALESCE(
        (SELECT session_id
         FROM directory
         WHERE account = :account AND user_id = :user_id AND key = :key),
        (SELECT session_id
         FROM directory
         WHERE account = :account AND key = :key
           AND user_id = (SELECT MIN(user_id) FROM directory WHERE account = :account AND key = :key)
           AND user_id = (SELECT MAX(user_id) FROM directory WHERE account = :account AND key = :key))
    )
/*pg FOR NO KEY UPDATE */;

-- name: lock
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id = :id
/*pg FOR NO KEY UPDATE */;

-- name: lock_many
/*pg
SELECT /*columns session*/, /*columns live*/, execution
FROM unnest(CAST(:id AS TEXT[])) WITH ORDINALITY AS given (lane, execution)
JOIN sessions ON id = lane
FOR NO KEY UPDATE OF sessions
*/;

-- name: change
UPDATE sessions
SET title = :title, timezone = :timezone, when_busy = :when_busy, metadata = :metadata, quiet = :quiet,
    digest = :digest
WHERE id = :id
RETURNING id;

-- name: count_held
UPDATE sessions
SET held = held + :answers
WHERE id = :id
RETURNING held;

-- name: holding_answers
SELECT /*columns session*/, /*columns live*/
FROM sessions
WHERE id IN (SELECT session_id FROM activity WHERE account = :account AND user_id = :user_id) AND held > 0
ORDER BY id
/*pg FOR NO KEY UPDATE */;

-- name: set_metadata
UPDATE sessions
SET metadata = :metadata
WHERE id = :id;

-- name: set_policy
UPDATE sessions
SET auto_commit_policy = :auto_commit_policy, keep_recent_count = :keep_recent_count, kept_tokens = :kept_tokens,
    commit_at = :commit_at
WHERE id = :id;

-- name: due_to_commit
SELECT id
FROM sessions
WHERE commit_at <= :now AND commit_at IS NOT NULL
ORDER BY commit_at
LIMIT :limit;

-- name: next_commit
SELECT MIN(commit_at) AS commit_at
FROM sessions
WHERE commit_at IS NOT NULL;

-- name: arm_commit
UPDATE sessions
SET commit_at = :commit_at
WHERE id = :id;

-- name: archive
UPDATE sessions
SET archived_seq = :archived_seq, archives = :archives, live_messages = :messages, live_tokens = :tokens,
    kept_tokens = :kept_tokens, commit_at = NULL, last_auto_commit_at = COALESCE(CAST(:auto_at AS BIGINT), last_auto_commit_at),
    auto_commit_last_error = '', auto_commit_last_error_at = NULL, auto_commit_failures = 0
WHERE id = :id;

-- name: recount
UPDATE sessions
SET live_messages = :messages, live_tokens = :tokens, kept_tokens = :kept_tokens, commit_at = :commit_at
WHERE id = :id;

-- name: commit_failed
UPDATE sessions
SET auto_commit_last_error = :error, auto_commit_last_error_at = :now, auto_commit_failures = auto_commit_failures + 1,
    commit_at = :commit_at
WHERE id = :id;

-- name: awaiting_commit
-- Sessions that wait to be archived, soonest first.
SELECT id, account, user_id, key, auto_commit_policy, commit_at, live_messages, live_tokens, kept_tokens,
       keep_recent_count
FROM sessions
WHERE commit_at IS NOT NULL
ORDER BY commit_at
LIMIT :limit;

-- name: remove
DELETE FROM sessions
WHERE id = :id
RETURNING id;

-- name: enqueue
UPDATE sessions
SET ready_at = CASE
        WHEN holder IS NOT NULL THEN NULL
        WHEN ready_at IS NULL OR ready_at > :not_before THEN :not_before
        ELSE ready_at
    END,
    user_waits = CASE WHEN user_waits > :user_waits THEN user_waits ELSE :user_waits END,
    last_seq = last_seq + :events
WHERE id = :id;

-- name: hear
UPDATE sessions
SET last_message_at = :now, title = COALESCE(title, :title)
WHERE id = :id;

-- name: newest_chat
-- For the owner of a common session: the chat with the newest user message. The system's sessions are no chats.
SELECT chat.id
FROM sessions AS common
JOIN activity ON activity.account = common.account AND activity.user_id = common.user_id
JOIN sessions AS chat ON chat.id = activity.session_id
WHERE common.id = :id AND chat.last_message_at IS NOT NULL
  AND chat.key NOT LIKE 'unified:%' AND chat.key NOT LIKE 'cron:%'
ORDER BY chat.last_message_at DESC, chat.id DESC
LIMIT 1;

-- name: arm_idle
UPDATE sessions
SET unarmed = 0
WHERE id = :id;

-- name: disarm_idle
UPDATE sessions
SET unarmed = 1
WHERE id = :id;

-- name: first_ready
-- Of both pools: a lane may change its pool while it waits.
SELECT MIN(ready_at) AS ready_at
FROM (
    SELECT MIN(ready_at) AS ready_at
    FROM sessions
    WHERE user_waits = 0 AND ready_at >= :since AND ready_at IS NOT NULL
    UNION ALL
    SELECT MIN(ready_at) AS ready_at
    FROM sessions
    WHERE user_waits = 1 AND ready_at >= :since AND ready_at IS NOT NULL
) AS pools;

-- name: next_ready
SELECT MIN(ready_at) AS ready_at
FROM sessions
WHERE user_waits = :user_waits AND ready_at >= :since AND ready_at IS NOT NULL;

-- name: lease
-- Round robin: lanes of the next account that has a ready lane; after the last account, of the first. An account
-- other than the last one gets at most a quantum.
WITH next AS MATERIALIZED (
    SELECT COALESCE(
        (SELECT account
         FROM sessions
         WHERE user_waits = :user_waits AND account > :after
           AND ready_at >= :since AND ready_at <= :now AND ready_at IS NOT NULL
         ORDER BY account
         LIMIT 1),
        (SELECT account
         FROM sessions
         WHERE user_waits = :user_waits AND ready_at >= :since AND ready_at <= :now AND ready_at IS NOT NULL
         ORDER BY account
         LIMIT 1)
    ) AS account
),
ready AS MATERIALIZED (
    SELECT id
    FROM sessions
    WHERE user_waits = :user_waits AND account = (SELECT account FROM next)
      AND ready_at >= :since AND ready_at <= :now AND ready_at IS NOT NULL
    ORDER BY ready_at
    LIMIT (SELECT CASE WHEN account = :after OR :after = '' THEN CAST(:limit AS BIGINT) ELSE CAST(:quantum AS BIGINT) END FROM next)
    /*pg FOR NO KEY UPDATE SKIP LOCKED */
)
UPDATE sessions
SET holder = :holder,
    leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */),
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) + :lease_ms,
    fence = fence + 1,
    last_seq = last_seq + 1,
    ready_at = NULL
WHERE id IN (SELECT id FROM ready) AND holder IS NULL AND COALESCE(ready_at, :now + 1) <= :now
RETURNING /*columns session*/, /*columns live*/,
          (SELECT saved FROM agent_states WHERE agent_states.session_id = sessions.id) AS saved,
          (SELECT waiting FROM agent_states WHERE agent_states.session_id = sessions.id) AS waiting,
          (SELECT answered_by FROM agent_states WHERE agent_states.session_id = sessions.id) AS answered_by;

-- name: lock_leasing
-- Only one process at a time leases within a limit. The key is "segue" in base 36, plus one. SQLite has one writer.
/*pg SELECT pg_advisory_xact_lock(47704263) *//*lite SELECT 1 */;

-- name: count_leased
-- No further than the limit.
SELECT COUNT(*) AS leased
FROM (SELECT 1 FROM sessions WHERE holder IS NOT NULL LIMIT :most) AS held;

-- name: hold
SELECT last_message_at, last_seq, /*columns live*/
FROM sessions
WHERE id = :id AND COALESCE(holder, '') = :holder AND fence = :fence
/*pg FOR NO KEY UPDATE */;

-- name: hold_many
/*pg
SELECT last_message_at, last_seq, /*columns live*/, execution
FROM unnest(CAST(:id AS TEXT[]), CAST(:holder AS TEXT[]), CAST(:fence AS BIGINT[]))
     WITH ORDINALITY AS given (lane, lane_holder, lane_fence, execution)
JOIN sessions ON id = lane AND COALESCE(holder, '') = lane_holder AND fence = lane_fence
FOR NO KEY UPDATE OF sessions
*/;

-- name: wait
UPDATE sessions
SET waiting_until = :until
WHERE id = :id;

-- name: number_events
UPDATE sessions
SET last_seq = last_seq + :events
WHERE id = :id;

-- name: grow
-- Adds events to the counts; messages count as not archived. A new message resets the pause after failed archiving.
UPDATE sessions
SET last_seq = last_seq + :events,
    live_messages = live_messages + :messages,
    live_tokens = live_tokens + :tokens,
    kept_tokens = COALESCE(CAST(:kept_tokens AS BIGINT), kept_tokens),
    auto_commit_failures = CASE WHEN CAST(:messages AS BIGINT) > 0 THEN 0 ELSE auto_commit_failures END,
    commit_at = CASE
        WHEN CAST(:commit_at AS BIGINT) IS NULL OR commit_at <= CAST(:commit_at AS BIGINT) THEN commit_at
        ELSE CAST(:commit_at AS BIGINT)
    END
WHERE id = :id
RETURNING last_seq;

-- name: grow_many
/*pg
UPDATE sessions
SET last_seq = last_seq + given.events,
    live_messages = live_messages + given.messages,
    live_tokens = live_tokens + given.tokens,
    kept_tokens = COALESCE(given.kept, kept_tokens),
    auto_commit_failures = CASE WHEN given.messages > 0 THEN 0 ELSE auto_commit_failures END,
    commit_at = CASE
        WHEN given.next_commit IS NULL OR commit_at <= given.next_commit THEN commit_at
        ELSE given.next_commit
    END
FROM unnest(CAST(:id AS TEXT[]), CAST(:events AS BIGINT[]), CAST(:messages AS BIGINT[]), CAST(:tokens AS BIGINT[]),
            CAST(:kept_tokens AS BIGINT[]), CAST(:commit_at AS BIGINT[]))
     WITH ORDINALITY AS given (lane, events, messages, tokens, kept, next_commit, execution)
WHERE id = given.lane
RETURNING last_seq, given.execution
*/;

-- name: renew
UPDATE sessions
SET leased_at = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */),
    lease_until = COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */) + :lease_ms
WHERE id = :id AND COALESCE(holder, '') = :holder AND fence = :fence
RETURNING id, fence;

-- name: release
UPDATE sessions
SET holder = NULL,
    leased_at = NULL,
    lease_until = NULL,
    last_seq = last_seq + :events,
    live_messages = live_messages + :messages,
    live_tokens = live_tokens + :tokens,
    kept_tokens = COALESCE(CAST(:kept_tokens AS BIGINT), kept_tokens),
    auto_commit_failures = CASE WHEN CAST(:messages AS BIGINT) > 0 THEN 0 ELSE auto_commit_failures END,
    commit_at = CASE
        WHEN CAST(:commit_at AS BIGINT) IS NULL OR commit_at <= CAST(:commit_at AS BIGINT) THEN commit_at
        ELSE CAST(:commit_at AS BIGINT)
    END,
    (ready_at, user_waits) = (
        SELECT MIN(not_before), COALESCE(MAX(CASE WHEN run_id IS NULL THEN 1 ELSE 0 END), 0)
        FROM turns
        WHERE session_id = :id AND state = 'queued'
    )
WHERE id = :id AND COALESCE(holder, '') = :holder AND fence = :fence
RETURNING ready_at, user_waits;

-- name: release_many
/*pg
UPDATE sessions
SET holder = NULL,
    leased_at = NULL,
    lease_until = NULL,
    last_seq = last_seq + given.events,
    live_messages = live_messages + given.messages,
    live_tokens = live_tokens + given.tokens,
    kept_tokens = COALESCE(given.kept, kept_tokens),
    auto_commit_failures = CASE WHEN given.messages > 0 THEN 0 ELSE auto_commit_failures END,
    commit_at = CASE
        WHEN given.next_commit IS NULL OR commit_at <= given.next_commit THEN commit_at
        ELSE given.next_commit
    END,
    (ready_at, user_waits) = (
        SELECT MIN(not_before), COALESCE(MAX(CASE WHEN run_id IS NULL THEN 1 ELSE 0 END), 0)
        FROM turns
        WHERE session_id = given.lane AND state = 'queued'
    )
FROM unnest(CAST(:id AS TEXT[]), CAST(:holder AS TEXT[]), CAST(:fence AS BIGINT[]), CAST(:events AS BIGINT[]),
            CAST(:messages AS BIGINT[]), CAST(:tokens AS BIGINT[]), CAST(:kept_tokens AS BIGINT[]),
            CAST(:commit_at AS BIGINT[]))
     WITH ORDINALITY AS given (lane, lane_holder, lane_fence, events, messages, tokens, kept, next_commit, execution)
WHERE id = given.lane AND COALESCE(holder, '') = given.lane_holder AND fence = given.lane_fence
RETURNING ready_at, user_waits, given.execution
*/;

-- name: delay
-- Undoes a lease of the same transaction: the lane is ready again at that moment, or when a turn is admitted.
UPDATE sessions
SET holder = NULL,
    leased_at = NULL,
    lease_until = NULL,
    last_seq = last_seq - 1,
    ready_at = :ready_at
WHERE id = :id AND COALESCE(holder, '') = :holder AND fence = :fence;

-- name: wake
-- Ends the delay of a lane whose turn waited for its model.
UPDATE sessions
SET ready_at = :since
WHERE id = :id AND COALESCE(holder, '') = '' AND COALESCE(ready_at, 0) > :since;

-- name: refresh
UPDATE sessions
SET last_seq = last_seq + :events,
    live_messages = live_messages + :messages,
    live_tokens = live_tokens + :tokens,
    kept_tokens = COALESCE(CAST(:kept_tokens AS BIGINT), kept_tokens),
    auto_commit_failures = CASE WHEN CAST(:messages AS BIGINT) > 0 THEN 0 ELSE auto_commit_failures END,
    commit_at = CASE
        WHEN CAST(:commit_at AS BIGINT) IS NULL OR commit_at <= CAST(:commit_at AS BIGINT) THEN commit_at
        ELSE CAST(:commit_at AS BIGINT)
    END,
    (ready_at, user_waits) = (
        SELECT CASE WHEN sessions.holder IS NULL THEN MIN(turns.not_before) END,
               COALESCE(MAX(CASE WHEN turns.run_id IS NULL THEN 1 ELSE 0 END), 0)
        FROM turns
        WHERE turns.session_id = :id AND turns.state = 'queued'
    )
WHERE id = :id
RETURNING ready_at, user_waits;

-- name: expired
-- A lease that begins after the horizon was written before the machine restarted, which resets its monotonic
-- clock. PostgreSQL uses its own clock and gets no horizon.
SELECT id
FROM sessions
WHERE holder IS NOT NULL AND lease_until >= :since
  AND (lease_until <= COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */)
       OR leased_at > :horizon)
ORDER BY lease_until
LIMIT :limit;

-- name: first_leased
SELECT MIN(lease_until) AS lease_until
FROM sessions
WHERE holder IS NOT NULL AND lease_until >= :since;

-- name: reclaim
-- Reclaims an expired lease. The new fence makes all later writes of the old owner miss.
UPDATE sessions
SET fence = fence + 1, holder = :holder
WHERE id = :id AND COALESCE(holder, '') <> ''
  AND (lease_until <= COALESCE(CAST(:lease_now AS BIGINT), /*pg CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) *//*lite 0 */)
       OR leased_at > :horizon)
RETURNING /*columns session*/, /*columns live*/;
