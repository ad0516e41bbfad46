-- The recalls: what such a job has beside what every job has.

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
SELECT jobs.id, jobs.state, jobs.trigger, jobs.action, jobs.next_at, jobs.created_at, jobs.updated_at,
       recalls.call_type, recalls.comment,
       (SELECT outcome FROM runs_told WHERE job_id = jobs.id ORDER BY slot DESC LIMIT 1) AS outcome
FROM jobs
LEFT JOIN recalls ON recalls.job_id = jobs.id
WHERE jobs.id = :id;

-- name: pending
SELECT jobs.id, jobs.state, jobs.trigger, jobs.action, jobs.next_at, jobs.created_at, jobs.updated_at,
       recalls.call_type, recalls.comment, NULL AS outcome
FROM jobs
LEFT JOIN recalls ON recalls.job_id = jobs.id
WHERE jobs.session_id = :session_id AND jobs.kind = 'recall' AND jobs.state = 'active';

-- name: of_session
SELECT jobs.id, jobs.state, jobs.trigger, jobs.action, jobs.next_at, jobs.created_at, jobs.updated_at,
       recalls.call_type, recalls.comment,
       (SELECT outcome FROM runs_told WHERE job_id = jobs.id ORDER BY slot DESC LIMIT 1) AS outcome
FROM jobs
LEFT JOIN recalls ON recalls.job_id = jobs.id
WHERE jobs.session_id = :session_id AND jobs.kind = 'recall' AND (jobs.created_at, jobs.id) < (:before, :before_id)
ORDER BY jobs.created_at DESC, jobs.id DESC
LIMIT :limit;

-- name: waiting
-- Those of a session that have come due and stand in the lane, which in unified mode is another session's.
SELECT jobs.id
FROM turns
JOIN runs ON runs.id = turns.run_id
JOIN jobs ON jobs.id = runs.job_id
WHERE turns.session_id = :lane_id AND turns.state = 'queued' AND jobs.kind = 'recall' AND jobs.session_id = :session_id
ORDER BY turns.rank, turns.id;
