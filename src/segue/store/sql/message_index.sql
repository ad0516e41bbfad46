-- Message index: the terms of messages, for full-text search. Texts are split into terms in Python, so that both
-- databases find the same. Triggers of SQLite keep its FTS5 table message_terms in step with message_index.

-- name: unindexed
-- Sessions with messages that are not indexed, the most recently active first.
SELECT session_id, account, user_id, indexed_seq, unindexed
FROM activity
WHERE unindexed > 0
ORDER BY active_at DESC
LIMIT :limit;

-- name: messages_after
SELECT session_id, seq, at, content
FROM events
WHERE session_id = :session_id AND seq > :after AND role IS NOT NULL
ORDER BY seq
LIMIT :limit;

-- name: claim
-- The messages up to :until are indexed by this transaction. :counted is how many writes it has seen all of.
UPDATE activity
SET indexed_seq = :until, unindexed = unindexed - :counted
WHERE session_id = :session_id AND indexed_seq = :after
RETURNING session_id;

-- name: add
INSERT INTO message_index (position, session_id, seq, terms)
VALUES (:position, :session_id, :seq, /*lite :terms *//*pg array_to_tsvector(string_to_array(:terms, ' ')) */)
ON CONFLICT (position) DO NOTHING
RETURNING seq;

-- name: search
-- The newest messages that have all terms. Each database has a notation of its own for them. FTS5 reads its lists
-- from their newest end. A GIN index gives all messages that have the terms, which are many if the terms are
-- frequent; but then enough of them are among the :window newest messages, and PostgreSQL looks there first.
-- `position + 0`: else a plan for any values reads the primary key from its start, to combine it with the terms.
SELECT events.session_id, events.seq, events.type, events.turn_id, events.via_id, events.at, events.role,
       events.content, events.source, events.body,
       found.position, sessions.account, sessions.user_id, sessions.key, sessions.title,
       (SELECT replaced_by FROM replaced_turns WHERE replaced_turns.turn_id = events.turn_id) AS replaced_by
FROM (/*lite
      SELECT rowid AS position
      FROM message_terms
      WHERE message_terms MATCH :terms AND rowid < :before
      ORDER BY rowid DESC *//*pg
      WITH recent AS MATERIALIZED (
          SELECT position
          FROM (SELECT position, terms
                FROM message_index
                WHERE position < :before
                ORDER BY position DESC
                LIMIT :window) AS newest
          WHERE terms @@ CAST(:terms AS TSQUERY)
          LIMIT :limit
      ), matching AS MATERIALIZED (
          SELECT position
          FROM message_index
          WHERE terms @@ CAST(:terms AS TSQUERY) AND position + 0 < :before
            AND (SELECT COUNT(*) FROM recent) < :limit
      )
      SELECT position FROM recent UNION SELECT position FROM matching
      ORDER BY position DESC */
      LIMIT :limit) AS found
JOIN message_index ON message_index.position = found.position
JOIN sessions ON sessions.id = message_index.session_id
JOIN events ON events.session_id = message_index.session_id AND events.seq = message_index.seq
ORDER BY found.position DESC;
