-- Guests: the senders that a channel has seen; and marks: up to where each channel has read.

-- columns: guest
channel, sender, name, code, allowed, came_at, user_id

-- name: come
INSERT INTO guests (channel, sender, name, code, came_at)
VALUES (:channel, :sender, :name, :code, :now)
ON CONFLICT DO NOTHING
RETURNING code;

-- name: known
SELECT allowed, user_id
FROM guests
WHERE channel = :channel AND sender = :sender;

-- name: allow
UPDATE guests
SET allowed = 1, user_id = COALESCE(CAST(:user_id AS TEXT), user_id)
WHERE code = :code
RETURNING /*columns guest*/;

-- name: bind
-- Sets the user that a sender's chats belong to. The settings may admit a sender without a code.
INSERT INTO guests (channel, sender, code, came_at, user_id)
VALUES (:channel, :sender, :code, :now, :user_id)
ON CONFLICT (channel, sender) DO UPDATE
SET user_id = excluded.user_id
RETURNING /*columns guest*/;

-- name: forget
DELETE FROM guests
WHERE channel = :channel AND sender = :sender
RETURNING /*columns guest*/;

-- name: newest
SELECT /*columns guest*/
FROM guests
WHERE channel > ''
ORDER BY channel, sender
LIMIT :limit;

-- name: mark
SELECT mark
FROM marks
WHERE channel = :channel;

-- name: set_mark
INSERT INTO marks (channel, mark)
VALUES (:channel, :mark)
ON CONFLICT (channel) DO UPDATE
SET mark = excluded.mark;
