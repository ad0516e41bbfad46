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
-- How many memories an owner has. Counting stops at :most.
SELECT COUNT(*) AS found
FROM (SELECT 1 AS one
      FROM memories
      WHERE account = :account AND user_id = :user_id AND forgotten_at IS NULL
      LIMIT :most) AS counted;

-- name: add_term
INSERT INTO memory_terms (account, user_id, term, memory_id, weight)
VALUES (:account, :user_id, :term, :memory_id, :weight)
ON CONFLICT (account, user_id, term, memory_id) DO UPDATE
SET weight = excluded.weight;

-- name: drop_terms
DELETE FROM memory_terms
WHERE memory_id = :memory_id;

-- name: frequencies
-- How many memories contain each of these terms. Counting stops at :most.
SELECT asked.term,
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one
              FROM memory_terms
              WHERE memory_terms.account = :account AND memory_terms.user_id = :user_id
                AND memory_terms.term = asked.term
              LIMIT :most) AS counted) AS found
FROM /*pg json_array_elements_text(CAST(:terms AS JSON)) AS asked (term) *//*lite (SELECT value AS term FROM json_each(:terms)) AS asked */;

-- name: matching
-- Which memories contain which of these terms; Python ranks them. An array, not a join: without statistics
-- PostgreSQL would read the terms of all owners for a join.
SELECT memory_id, term, weight
FROM memory_terms
WHERE account = :account AND user_id = :user_id
  AND term /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:terms AS JSON)))) *//*lite IN (SELECT value FROM json_each(:terms)) */
ORDER BY memory_id, term;

-- name: newest_with
-- The newest memories that contain a term, in the order of the index: what is left is not read.
SELECT memory_id, term, weight
FROM memory_terms
WHERE account = :account AND user_id = :user_id AND term = :term
ORDER BY memory_id DESC
LIMIT :limit;

-- name: weights_in
-- Which of these memories contain which of these terms.
SELECT memory_id, term, weight
FROM memory_terms
WHERE account = :account AND user_id = :user_id
  AND term /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:terms AS JSON)))) *//*lite IN (SELECT value FROM json_each(:terms)) */
  AND memory_id /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON)))) *//*lite IN (SELECT value FROM json_each(:ids)) */
ORDER BY memory_id, term;

-- name: neighbours
-- The passages right before and after each of these passages in its session. PostgreSQL compares them as rows:
-- with one equation a column it would read and sort all passages of the owner while there are no statistics.
SELECT memories.id,
       (SELECT nearest.id
        FROM (SELECT earlier.id, earlier.session_id
              FROM memories AS earlier
              WHERE /*pg (earlier.account, earlier.user_id, earlier.session_id, earlier.source_seq)
                    < (:account, :user_id, memories.session_id, memories.source_seq) *//*lite
                    earlier.account = :account AND earlier.user_id = :user_id AND earlier.session_id = memories.session_id
                    AND earlier.source_seq < memories.source_seq */
                AND earlier.kind = 'passage' AND earlier.forgotten_at IS NULL
              ORDER BY earlier.account DESC, earlier.user_id DESC, earlier.session_id DESC, earlier.source_seq DESC
              LIMIT 1) AS nearest
        WHERE nearest.session_id = memories.session_id) AS before_id,
       (SELECT nearest.id
        FROM (SELECT later.id, later.session_id
              FROM memories AS later
              WHERE /*pg (later.account, later.user_id, later.session_id, later.source_seq)
                    > (:account, :user_id, memories.session_id, memories.source_seq) *//*lite
                    later.account = :account AND later.user_id = :user_id AND later.session_id = memories.session_id
                    AND later.source_seq > memories.source_seq */
                AND later.kind = 'passage' AND later.forgotten_at IS NULL
              ORDER BY later.account, later.user_id, later.session_id, later.source_seq
              LIMIT 1) AS nearest
        WHERE nearest.session_id = memories.session_id) AS after_id
FROM memories
WHERE memories.id /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON)))) *//*lite IN (SELECT value FROM json_each(:ids)) */
  AND COALESCE(memories.account = :account AND memories.user_id = :user_id AND memories.kind = 'passage', FALSE);

-- name: said_at
-- When each of these was said.
SELECT id, created_at
FROM memories
WHERE id /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON)))) *//*lite IN (SELECT value FROM json_each(:ids)) */
  AND COALESCE(account = :account AND user_id = :user_id, FALSE);

-- name: said_between
-- The newest passages of a period.
SELECT id, created_at
FROM memories
WHERE account = :account AND user_id = :user_id AND kind = 'passage' AND forgotten_at IS NULL
  AND created_at >= :first AND created_at < :last
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- name: by_ids
SELECT /*columns memory*/
FROM memories
WHERE id /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON)))) *//*lite IN (SELECT value FROM json_each(:ids)) */
  AND COALESCE(account = :account AND user_id = :user_id AND forgotten_at IS NULL, FALSE);

-- name: keep_vector
INSERT INTO memory_vectors (memory_id, account, user_id, model, bits, vector)
VALUES (:memory_id, :account, :user_id, :model, :bits, :vector)
ON CONFLICT (memory_id) DO UPDATE
SET model = excluded.model, bits = excluded.bits, vector = excluded.vector;

-- name: drop_vector
DELETE FROM memory_vectors
WHERE memory_id = :memory_id;

-- name: bits
-- The bits of an owner's newest vectors of one model.
SELECT memory_id, bits
FROM memory_vectors
WHERE account = :account AND user_id = :user_id AND model = :model
ORDER BY memory_id DESC
LIMIT :limit;

-- name: vectors
SELECT memory_id, vector
FROM memory_vectors
WHERE memory_id /*pg = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON)))) *//*lite IN (SELECT value FROM json_each(:ids)) */
  AND COALESCE(account = :account AND user_id = :user_id AND model = :model, FALSE);

-- name: without_vector
-- Memories and passages that have no vector of this model, oldest first.
SELECT /*columns memory*/
FROM memories
WHERE id > :after_id AND forgotten_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.memory_id = memories.id AND memory_vectors.model = :model)
ORDER BY id
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
