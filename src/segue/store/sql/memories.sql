-- Memories of a user by topic, and their search terms. Text is split into terms in Python, so that both
-- databases find the same.

-- columns: memory
id, account, user_id, kind, topic, content, confidence, session_id, archive_n, source_seq, created_at,
updated_at

-- name: keep
INSERT INTO memories (/*columns memory*/)
VALUES (:id, :account, :user_id, :kind, :topic, :content, :confidence, :session_id, :archive_n, :source_seq,
        :created_at, :updated_at)
ON CONFLICT (id) DO UPDATE
SET kind = excluded.kind, topic = excluded.topic, content = excluded.content, confidence = excluded.confidence,
    session_id = excluded.session_id, archive_n = excluded.archive_n, source_seq = excluded.source_seq,
    updated_at = excluded.updated_at, forgotten_at = NULL;

-- name: forget
UPDATE memories
SET forgotten_at = :now
WHERE id = :id AND forgotten_at IS NULL
RETURNING id;

-- name: by_id
SELECT /*columns memory*/
FROM memories
WHERE id = :id AND forgotten_at IS NULL;

-- name: by_topic
SELECT /*columns memory*/
FROM memories
WHERE account = :account AND user_id = :user_id AND topic = :topic AND forgotten_at IS NULL
/*pg FOR NO KEY UPDATE */;

-- name: newest_first
SELECT /*columns memory*/
FROM memories
WHERE account = :account AND user_id = :user_id AND forgotten_at IS NULL AND kind <> 'passage'
  AND (updated_at, id) < (:before, :before_id)
ORDER BY updated_at DESC, id DESC
LIMIT :limit;

-- name: next_owner
SELECT account, user_id
FROM memories
WHERE (account, user_id) > (:account, :user_id) AND forgotten_at IS NULL AND kind <> 'passage'
ORDER BY account, user_id
LIMIT 1;

-- name: count
SELECT COUNT(*) AS found
FROM memories
WHERE account = :account AND user_id = :user_id AND forgotten_at IS NULL;

-- name: add_term
INSERT INTO memory_terms (account, user_id, term, memory_id, weight)
VALUES (:account, :user_id, :term, :memory_id, :weight)
ON CONFLICT (account, user_id, term, memory_id) DO UPDATE
SET weight = excluded.weight;

-- name: drop_terms
DELETE FROM memory_terms
WHERE memory_id = :memory_id;

-- name: matching
-- Which memories contain which of these terms; Python ranks them.
SELECT memory_terms.memory_id, memory_terms.term, memory_terms.weight
FROM /*pg json_array_elements_text(CAST(:terms AS JSON)) AS asked (term) *//*lite (SELECT value AS term FROM json_each(:terms)) AS asked */
JOIN memory_terms
  ON memory_terms.account = :account AND memory_terms.user_id = :user_id AND memory_terms.term = asked.term
ORDER BY memory_terms.memory_id, memory_terms.term
LIMIT :limit;

-- name: record_change
INSERT INTO memory_changes (session_id, archive_n, place, memory_id, before, after, at)
VALUES (:session_id, :archive_n, :place, :memory_id, :before, :after, :at);

-- name: changes_of
SELECT place, memory_id, before, after
FROM memory_changes
WHERE session_id = :session_id AND archive_n = :archive_n
ORDER BY place DESC;

-- name: remove_passages
DELETE FROM memories
WHERE session_id = :session_id AND kind = 'passage';
