-- Files that users send with a message (decision 0046). They belong to a session and are deleted with it.
CREATE TABLE files (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL CHECK (size > 0),
    created_at BIGINT NOT NULL
);

-- What counts against a session's limit is read from the index alone.
CREATE INDEX files_of_session ON files (session_id, size);

-- The bytes, in a table of their own. They are written before the session is locked, hence the deferred reference.
CREATE TABLE file_contents (
    file_id TEXT PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    content /*lite BLOB*/ /*pg BYTEA*/ NOT NULL
);

-- The files of a user's message, as JSON.
ALTER TABLE turns ADD COLUMN parts TEXT;
