-- The directory: by which key a session is found, and when its owner was last heard, by which sessions are listed.

-- name: enter
INSERT INTO directory (session_id, account, user_id, key, heard_at)
VALUES (:session_id, :account, :user_id, :key, :now)
ON CONFLICT (account, user_id, key) DO NOTHING
RETURNING session_id;

-- name: hear
UPDATE directory
SET heard_at = :now
WHERE session_id = :session_id;

-- name: users_of
-- Who has a session of that key, to be named in a sentence.
SELECT user_id
FROM directory
WHERE account = :account AND key = :key
ORDER BY user_id
LIMIT 5;
