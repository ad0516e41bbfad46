-- Idempotency keys: calls by the names that clients gave them. A row is written in the transaction of the call
-- itself, so it exists exactly if the call was committed, with its result.

-- name: take
INSERT INTO requests (account, user_id, name, digest, made_at)
VALUES (:account, :user_id, :name, :digest, :now)
ON CONFLICT (account, user_id, name) DO NOTHING
RETURNING name;

-- name: keep
UPDATE requests
SET result = :result
WHERE account = :account AND user_id = :user_id AND name = :name;

-- name: by_name
SELECT digest, result
FROM requests
WHERE account = :account AND user_id = :user_id AND name = :name;

-- name: prune
WITH oldest AS MATERIALIZED (
    SELECT made_at
    FROM requests
    WHERE made_at < :before
    ORDER BY made_at
    LIMIT :limit
)
DELETE FROM requests
WHERE made_at <= (SELECT MAX(made_at) FROM oldest)
RETURNING name;
