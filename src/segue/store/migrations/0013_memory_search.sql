-- Search: a passage is found with the passages before and after it, and by when it was said.
CREATE INDEX passages_in_order ON memories (account, user_id, session_id, source_seq) WHERE kind = 'passage' AND forgotten_at IS NULL;
CREATE INDEX passages_by_time ON memories (account, user_id, created_at, id) WHERE kind = 'passage' AND forgotten_at IS NULL;

-- The vector of a memory or passage, if an embedder is configured: one byte a dimension, and one bit a dimension.
CREATE TABLE memory_vectors (
    memory_id TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    bits TEXT NOT NULL,
    vector TEXT NOT NULL
);

CREATE INDEX memory_vectors_by_owner ON memory_vectors (account, user_id, model, memory_id);
