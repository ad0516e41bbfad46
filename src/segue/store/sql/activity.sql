-- Activity: when something last happened in a session, by which sessions are listed.

-- name: enter
-- The system's own sessions are no conversations, and not listed.
INSERT INTO activity (session_id, account, user_id, active_at)
SELECT id, account, user_id, created_at
FROM sessions
WHERE id = :session_id AND key NOT LIKE 'system:%'
ON CONFLICT (session_id) DO NOTHING;

-- name: touch
UPDATE activity
SET active_at = :now
WHERE session_id = :session_id AND active_at < :now;
