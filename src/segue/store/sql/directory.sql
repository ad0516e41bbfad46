-- Directory: finds a session by key.

-- name: enter
INSERT INTO directory (session_id, account, user_id, key)
VALUES (:session_id, :account, :user_id, :key)
ON CONFLICT (account, user_id, key) DO NOTHING
RETURNING session_id;

-- name: users_of
-- The users who have a session of that key, for an error message.
SELECT user_id
FROM directory
WHERE account = :account AND key = :key
ORDER BY user_id
LIMIT 5;
