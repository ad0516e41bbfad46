-- Activity: when something last happened in a session, by which sessions are listed.

-- name: enter
-- The system's own sessions are no conversations, and not listed.
INSERT INTO activity (session_id, account, user_id, active_at, unindexed)
SELECT id, account, user_id, created_at, 0
FROM sessions
WHERE id = :session_id AND key NOT LIKE 'system:%'
ON CONFLICT (session_id) DO NOTHING;

-- name: touch
-- Returns when a job last said something, so that a message that may answer it costs no other statement.
UPDATE activity
SET active_at = CASE WHEN active_at < :now THEN :now ELSE active_at END
WHERE session_id = :id
RETURNING job_said_at;

-- name: touch_many
/*pg
UPDATE activity
SET active_at = GREATEST(active_at, given.moment)
FROM unnest(CAST(:id AS TEXT[]), CAST(:now AS BIGINT[])) WITH ORDINALITY AS given (chat, moment, execution)
WHERE session_id = given.chat
RETURNING job_said_at, given.execution
*/;

-- name: logged
-- Messages were added to the log: the indexer has to read them, and the owner, those that are news. `job_said_at`: 0
-- if none of them is a job's.
UPDATE activity
SET active_at = CASE WHEN active_at < :now THEN :now ELSE active_at END, unindexed = unindexed + 1, news = news + :news,
    job_said_at = CASE WHEN job_said_at < :job_said_at THEN :job_said_at ELSE job_said_at END
WHERE session_id = :id;

-- name: logged_many
/*pg
UPDATE activity
SET active_at = GREATEST(active_at, given.moment), unindexed = unindexed + 1, news = news + given.added,
    job_said_at = GREATEST(job_said_at, given.by_job_at)
FROM unnest(CAST(:id AS TEXT[]), CAST(:now AS BIGINT[]), CAST(:news AS BIGINT[]), CAST(:job_said_at AS BIGINT[]))
     AS given (chat, moment, added, by_job_at)
WHERE session_id = given.chat
*/;

-- name: lock
SELECT news, read_news
FROM activity
WHERE session_id = :session_id
/*pg FOR NO KEY UPDATE */;

-- name: messages_after
-- Without their texts, to count which of them are news.
SELECT session_id, seq, type, turn_id, via_id, at, role, NULL AS content, source, body
FROM events
WHERE session_id = :session_id AND seq > :seq AND role = 'assistant'
ORDER BY seq
LIMIT :limit;

-- name: mark_read
-- Only forward: an older page of the conversation, or another device, does not make read messages unread.
UPDATE activity
SET read_news = :read_news
WHERE session_id = :session_id AND read_news < :read_news
RETURNING session_id;
