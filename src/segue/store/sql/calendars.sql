-- Calendars: private addresses at which the coming events of sessions are read.

-- name: put
-- A new address takes the place of the old one.
INSERT INTO calendars (session_id, token_hash, created_at)
VALUES (:session_id, :token_hash, :now)
ON CONFLICT (session_id) DO UPDATE
SET token_hash = excluded.token_hash, created_at = excluded.created_at;

-- name: remove
DELETE FROM calendars
WHERE session_id = :session_id
RETURNING session_id;

-- name: of_session
SELECT created_at
FROM calendars
WHERE session_id = :session_id;

-- name: by_token
SELECT session_id
FROM calendars
WHERE token_hash = :token_hash;
