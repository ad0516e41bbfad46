-- Calendars: the sessions whose coming events are read at a private address. Only a hash of its token is stored.
CREATE TABLE calendars (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);
