-- Events: the log of a session, numbered without gaps. Written only under the session's row lock, with
-- numbers taken from sessions.last_seq in the same transaction.
-- COALESCE around a guard: see turns.sql.

-- columns: event
session_id, seq, type, turn_id, via_id, at, role, content, source, body

-- name: append
INSERT INTO events (/*columns event*/, tokens)
VALUES (:session_id, :seq, :type, :turn_id, :via_id, :at, :role, :content, :source, :body, :tokens);

-- name: append_many
/*pg
INSERT INTO events (session_id, seq, type, turn_id, via_id, at, role, content, source, body, tokens)
SELECT *
FROM unnest(CAST(:session_id AS TEXT[]), CAST(:seq AS BIGINT[]), CAST(:type AS TEXT[]), CAST(:turn_id AS TEXT[]),
            CAST(:via_id AS TEXT[]), CAST(:at AS BIGINT[]), CAST(:role AS TEXT[]), CAST(:content AS TEXT[]),
            CAST(:source AS TEXT[]), CAST(:body AS TEXT[]), CAST(:tokens AS BIGINT[]))
*/;

-- name: after
SELECT /*columns event*/
FROM events
WHERE session_id = :session_id AND seq > :after
ORDER BY seq
LIMIT :limit;

-- name: messages_after
SELECT /*columns event*/,
       (SELECT told_as FROM deliveries_told WHERE turn_id = events.turn_id AND events.type = 'stream_end') AS delivery,
       (SELECT held_until FROM held_answers WHERE turn_id = events.turn_id AND events.type = 'stream_end') AS held_until,
       (SELECT replaced_by FROM replaced_turns WHERE replaced_turns.turn_id = events.turn_id) AS replaced_by
FROM events
WHERE session_id = :session_id AND seq > :after AND role IS NOT NULL
ORDER BY seq
LIMIT :limit;

-- name: newest
-- Includes turn starts and ends, so that a reader can place messages from outside after a turn.
SELECT /*columns event*/,
       (SELECT replaced_by FROM replaced_turns WHERE replaced_turns.turn_id = events.turn_id) AS replaced_by
FROM events
WHERE session_id = :session_id AND seq > :after AND seq < :before
  AND (role IS NOT NULL OR type IN ('stream_start', 'stream_end'))
ORDER BY seq DESC
LIMIT :limit;

-- name: told_before
-- The events shown to a reader of the conversation: messages, tool calls, questions and the queue.
SELECT /*columns event*/,
       (SELECT told_as FROM deliveries_told WHERE turn_id = events.turn_id AND events.type = 'stream_end') AS delivery,
       (SELECT held_until FROM held_answers WHERE turn_id = events.turn_id AND events.type = 'stream_end') AS held_until,
       (SELECT replaced_by FROM replaced_turns WHERE replaced_turns.turn_id = events.turn_id) AS replaced_by
FROM events
WHERE session_id = :session_id AND seq < :before
  AND type IN ('stream_start', 'tool_started', 'tool_call', 'stream_end', 'waiting', 'message', 'queue_update')
ORDER BY seq DESC
LIMIT :limit;

-- name: newest_tokens
-- Of the newest counted messages. The message that started a running turn is counted when the turn ends; its
-- copy in the log of a chat is counted at once.
SELECT tokens
FROM events
WHERE session_id = :session_id AND seq > :after AND role IS NOT NULL
  AND NOT (type = 'stream_start' AND EXISTS (
      SELECT 1 FROM turns
      WHERE turns.id = events.turn_id AND turns.session_id = events.session_id
        AND COALESCE(turns.state, '') = 'running' AND turns.attempt = 1
  ))
ORDER BY seq DESC
LIMIT :keep;

-- name: live_part
-- The messages that are not archived, and their tokens; counted as above.
SELECT COUNT(*) AS messages, CAST(COALESCE(SUM(tokens), 0) AS BIGINT) AS tokens
FROM events
WHERE session_id = :id AND seq > :after AND role IS NOT NULL
  AND NOT (type = 'stream_start' AND EXISTS (
      SELECT 1 FROM turns
      WHERE turns.id = events.turn_id AND turns.session_id = events.session_id
        AND COALESCE(turns.state, '') = 'running' AND turns.attempt = 1
  ));

-- name: marks_after
-- Messages, turn starts and turn ends: what archiving needs to choose where to cut.
SELECT seq, type, turn_id, role, CASE WHEN source IS NULL THEN 0 ELSE 1 END AS scheduled, tokens
FROM events
WHERE session_id = :session_id AND seq > :after AND (role IS NOT NULL OR type IN ('stream_start', 'stream_end'))
ORDER BY seq;

-- name: between
SELECT /*columns event*/,
       (SELECT replaced_by FROM replaced_turns WHERE replaced_turns.turn_id = events.turn_id) AS replaced_by
FROM events
WHERE session_id = :session_id AND seq > :after AND seq <= :until
  AND (role IS NOT NULL OR type IN ('stream_start', 'stream_end'))
ORDER BY seq
LIMIT :limit;

-- name: of_tools
-- The beginnings and ends of tool calls.
SELECT session_id, seq, type, turn_id, via_id, at, role, content, source, body
FROM events
WHERE session_id = :session_id AND seq > :after AND seq < :before AND type IN ('tool_started', 'tool_call')
ORDER BY seq;

-- name: start_of_turn
-- The number of the event with which its newest attempt began.
SELECT seq
FROM events
WHERE session_id = :session_id AND turn_id = :turn_id AND type = 'stream_start'
ORDER BY seq DESC
LIMIT 1;

-- name: of_user_in_turn
-- What the user wrote in a turn: its message, and those that joined it.
SELECT /*columns event*/
FROM events
WHERE session_id = :session_id AND turn_id = :turn_id AND role = 'user'
ORDER BY seq;

-- name: end_of_turn
-- The number of the event with the answer of a turn.
SELECT seq
FROM events
WHERE session_id = :session_id AND turn_id = :turn_id AND type = 'stream_end' AND role IS NOT NULL
ORDER BY seq DESC
LIMIT 1;

-- name: message_at
SELECT /*columns event*/
FROM events
WHERE session_id = :session_id AND seq = :seq AND role IS NOT NULL;

-- name: said_since
-- The newest messages first.
SELECT /*columns event*/
FROM events
WHERE session_id = :session_id AND role IS NOT NULL AND at >= :since
ORDER BY seq DESC
LIMIT :limit;

-- name: remove_of_session
DELETE FROM events
WHERE session_id = :session_id;

-- name: users_said
-- The messages of users among the newest events of a session.
SELECT seq, at, content
FROM (
    SELECT seq, at, role, content, source
    FROM events
    WHERE session_id = :session_id
    ORDER BY seq DESC
    LIMIT :limit
) AS newest
WHERE role = 'user' AND source IS NULL AND at > :since AND content IS NOT NULL
ORDER BY seq DESC;
