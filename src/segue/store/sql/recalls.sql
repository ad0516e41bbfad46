-- Recalls: the columns that a recall has in addition to those of a job.

-- columns: recall
id, state, trigger, action, slot, next_at, created_at, updated_at, call_type, comment, turn_state,
waits_since, last_slot, outcome

-- name: create
INSERT INTO recalls (job_id, call_type, comment, depth)
VALUES (:job_id, :call_type, :comment, :depth)
ON CONFLICT (job_id) DO NOTHING;

-- name: depth
SELECT depth
FROM recalls
WHERE job_id = :job_id;

-- name: set_since
SELECT COUNT(*) AS found
FROM jobs
WHERE session_id = :session_id AND kind = 'recall' AND created_at > :since;

-- name: by_id
SELECT /*columns recall*/
FROM recalls_told
WHERE id = :id;

-- name: current
-- The next recall, else one that waits in the lane, else a running one.
SELECT /*columns recall*/
FROM recalls_told
WHERE id = (SELECT recall_id FROM current_recalls WHERE session_id = :session_id);

-- name: of_session
SELECT /*columns recall*/
FROM recalls_told
WHERE session_id = :session_id AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;
