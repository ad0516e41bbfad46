-- Agent states: what the agent of a session saved for its next turn, and the question that it asked the user.

-- name: save
INSERT INTO agent_states (session_id, saved)
VALUES (:session_id, :saved)
ON CONFLICT (session_id) DO UPDATE SET saved = EXCLUDED.saved;

-- name: ask
INSERT INTO agent_states (session_id, waiting)
VALUES (:session_id, :waiting)
ON CONFLICT (session_id) DO UPDATE SET waiting = EXCLUDED.waiting, answered_by = NULL;

-- name: answer
UPDATE agent_states
SET answered_by = :turn_id
WHERE session_id = :session_id;

-- name: forget
UPDATE agent_states
SET waiting = NULL, answered_by = NULL
WHERE session_id = :session_id;

-- name: question
-- The question that a session waits for an answer to.
SELECT agent_states.waiting, sessions.waiting_until
FROM agent_states
JOIN sessions ON sessions.id = agent_states.session_id
WHERE agent_states.session_id = :session_id AND sessions.waiting_until > :now;
