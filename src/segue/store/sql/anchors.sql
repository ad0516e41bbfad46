-- Anchors: the messages of jobs on chat networks, so that a message that quotes one is known to answer its job.

-- name: add
-- A part that is sent again after a crash may have the id of the first attempt.
INSERT INTO anchors (channel, chat_id, message_id, session_id, job_id, run_id, created_at)
VALUES (:channel, :chat_id, :message_id, :session_id, :job_id, :run_id, :now)
ON CONFLICT (channel, chat_id, message_id) DO NOTHING;

-- name: by_message
SELECT session_id, job_id, run_id
FROM anchors
WHERE channel = :channel AND chat_id = :chat_id AND message_id = :message_id;

-- name: prune
DELETE FROM anchors
WHERE (channel, chat_id, message_id) IN (
    SELECT channel, chat_id, message_id
    FROM anchors
    WHERE created_at < :before
    ORDER BY created_at
    LIMIT :limit
)
RETURNING message_id;
