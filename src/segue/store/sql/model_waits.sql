-- Model waits: lanes whose first turn waits for a model that runs as many turns as it may. Only processes with such a
-- limit read and write them, one at a time (`sessions.lock_leasing`), and only after the session's row is locked. A
-- row may outlive its reason; it then costs a look at an idle lane.

-- name: put
INSERT INTO model_waits (session_id, model, user_waits, account, since)
VALUES (:session_id, :model, :user_waits, :account, :since)
ON CONFLICT (session_id) DO UPDATE SET model = EXCLUDED.model, user_waits = EXCLUDED.user_waits, since = EXCLUDED.since;

-- name: next
-- Round robin, as `sessions.lease`: lanes of the next account, those that have waited longest first.
SELECT model_waits.session_id, model_waits.since
FROM model_waits
JOIN sessions ON sessions.id = model_waits.session_id
WHERE model_waits.model = :model AND model_waits.user_waits = :user_waits
  AND model_waits.account = COALESCE(
        (SELECT account
         FROM model_waits
         WHERE model = :model AND user_waits = :user_waits AND account > :after
         ORDER BY account
         LIMIT 1),
        (SELECT account
         FROM model_waits
         WHERE model = :model AND user_waits = :user_waits
         ORDER BY account
         LIMIT 1)
    )
ORDER BY model_waits.since
LIMIT :limit
/*pg FOR NO KEY UPDATE OF sessions SKIP LOCKED */;

-- name: remove
DELETE FROM model_waits
WHERE session_id = :session_id;
