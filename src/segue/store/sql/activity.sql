-- Activity: when something last happened in a session, by which sessions are listed.

-- name: enter
-- The system's own sessions are no conversations, and not listed.
INSERT INTO activity (session_id, account, user_id, active_at, unindexed)
SELECT id, account, user_id, created_at, 0
FROM sessions
WHERE id = :session_id AND key NOT LIKE 'system:%'
ON CONFLICT (session_id) DO NOTHING;

-- name: touch
UPDATE activity
SET active_at = :now
WHERE session_id = :session_id AND active_at < :now;

-- name: logged
-- Messages were added to the log: the indexer has to read them.
UPDATE activity
SET active_at = CASE WHEN active_at < :now THEN :now ELSE active_at END, unindexed = unindexed + 1
WHERE session_id = :session_id;
