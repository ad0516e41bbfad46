-- Archives: consecutive ranges of a session's log. Created in order, under the session's row lock.

-- columns: archive
session_id, n, first_seq, last_seq, message_count, tokens, reason, task_id, state, summary, error, learned,
created_at, finished_at, undone_at

-- name: create
INSERT INTO archives (session_id, n, first_seq, last_seq, message_count, tokens, reason, task_id, state, created_at)
VALUES (:session_id, :n, :first_seq, :last_seq, :message_count, :tokens, :reason, :task_id, 'extracting', :now);

-- name: by_n
SELECT /*columns archive*/
FROM archives
WHERE session_id = :session_id AND n = :n;

-- name: newest_first
SELECT /*columns archive*/
FROM archives
WHERE session_id = :session_id AND n < :before
ORDER BY n DESC
LIMIT :limit;

-- name: with_summary
-- The newest one with a summary, which covers all older ones.
SELECT /*columns archive*/
FROM archives
WHERE session_id = :session_id AND n < :before AND summary IS NOT NULL
ORDER BY n DESC
LIMIT 1;

-- name: sum_up
UPDATE archives
SET summary = :summary
WHERE session_id = :session_id AND n = :n AND state = 'extracting'
RETURNING n;

-- name: finish
UPDATE archives
SET state = :state, error = :error, learned = :learned, finished_at = :now
WHERE session_id = :session_id AND n = :n AND state = 'extracting'
RETURNING n;

-- name: undo
UPDATE archives
SET undone_at = :now
WHERE session_id = :session_id AND n = :n AND undone_at IS NULL AND state <> 'extracting'
RETURNING n;
