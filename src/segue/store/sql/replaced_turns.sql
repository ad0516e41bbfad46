-- Replaced turns: which turns no longer count, and what stands in their place.

-- name: add
-- When the replacing turn starts, in the transaction that adds its message to the log.
INSERT INTO replaced_turns (turn_id, replaced_by, session_id)
VALUES (:turn_id, :replaced_by, :session_id)
ON CONFLICT DO NOTHING;

-- name: by_turn
SELECT replaced_by
FROM replaced_turns
WHERE turn_id = :turn_id;

-- name: replacing
-- The turn that replaces a turn, or waits to. :except is the turn that asks.
SELECT replaced_by AS id
FROM replaced_turns
WHERE turn_id = :turn_id AND replaced_by <> :except
UNION ALL
SELECT id
FROM turns
WHERE session_id = :session_id AND state = 'queued' AND replaces = :turn_id AND id <> :except;
