-- The people whom a channel brought, and how far each channel had listened.

-- name: come
INSERT INTO guests (channel, sender, name, code, came_at)
VALUES (:channel, :sender, :name, :code, :now)
ON CONFLICT DO NOTHING
RETURNING code;

-- name: allowed
SELECT allowed
FROM guests
WHERE channel = :channel AND sender = :sender;

-- name: allow
UPDATE guests
SET allowed = 1
WHERE code = :code
RETURNING channel, sender, name, code, allowed, came_at;

-- name: forget
DELETE FROM guests
WHERE channel = :channel AND sender = :sender
RETURNING channel, sender, name, code, allowed, came_at;

-- name: newest
SELECT channel, sender, name, code, allowed, came_at
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
