-- Full-text search over messages. The indexer fills it in the background, from the log: new messages, and those of a
-- database that is older than this migration. Until then every session waits for it (`unindexed`).
ALTER TABLE activity ADD COLUMN indexed_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN unindexed BIGINT NOT NULL DEFAULT 1;
CREATE INDEX activity_unindexed ON activity (active_at) WHERE unindexed > 0;

-- A message and its terms. The position begins with the moment of the message, so that a search reads the newest first.
-- PostgreSQL adds terms to its index at once: a search would read all that wait to be added.
-- The key refers to activity, not to sessions: the indexer holds the lock of that row and needs no other.
CREATE TABLE message_index (
    position /*lite INTEGER *//*pg BIGINT */ PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES activity (session_id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    terms /*lite TEXT *//*pg TSVECTOR */ NOT NULL,
    UNIQUE (session_id, seq)
);

/*pg CREATE INDEX message_index_terms ON message_index USING gin (terms) WITH (fastupdate = off); */

/*lite
CREATE VIRTUAL TABLE message_terms USING fts5 (
    terms, content = 'message_index', content_rowid = 'position', detail = 'none', columnsize = 0, prefix = '3 4 5 6', tokenize = 'ascii'
);

CREATE TRIGGER message_index_added AFTER INSERT ON message_index
BEGIN
    INSERT INTO message_terms (rowid, terms) VALUES (new.position, new.terms);
END;

CREATE TRIGGER message_index_removed AFTER DELETE ON message_index
BEGIN
    INSERT INTO message_terms (message_terms, rowid, terms) VALUES ('delete', old.position, old.terms);
END;
*/
