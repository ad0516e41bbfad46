-- By which key a session is found, and when its owner was last heard, by which sessions are listed.
--
-- Apart from the sessions themselves: their rows change twice in every turn, and each time PostgreSQL entered the
-- same names in the same two indexes again.
CREATE TABLE directory (
    -- It is entered before its session is made: of two who make one of the same key, one enters.
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    heard_at BIGINT NOT NULL
);

DROP INDEX sessions_newest;
DROP INDEX sessions_by_key;

-- An owner's sessions in the order in which they are listed.
CREATE INDEX directory_newest ON directory (account, user_id, heard_at, session_id);
-- The last of them: before a table is analysed, two indexes that begin alike cost PostgreSQL the same, and it takes
-- the newer one. By the one above it would walk over all sessions of an owner to find one of them.
CREATE UNIQUE INDEX directory_by_key ON directory (account, user_id, key);

INSERT INTO directory (session_id, account, user_id, key, heard_at)
SELECT id, account, user_id, key, COALESCE(last_message_at, created_at)
FROM sessions;
