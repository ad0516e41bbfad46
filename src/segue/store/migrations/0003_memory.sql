-- What a session has put away, and what was learned from it.
--
-- An archive is a stretch of its session's log: nothing is copied and nothing is rewritten, so a commit can
-- lose no word. What is learned from it belongs to the user, and outlives the session.

CREATE TABLE archives (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    message_count BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    reason TEXT NOT NULL,
    task_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('extracting', 'done', 'failed')),
    summary TEXT,
    error TEXT,
    learned BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    undone_at BIGINT,
    PRIMARY KEY (session_id, n)
);

-- Tasks outlive their session, so that whoever asked can still read how they ended.
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('session_commit')),
    session_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    archive_n BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'cancelling', 'completed', 'failed', 'cancelled')),
    stage TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    not_before BIGINT NOT NULL,
    holder TEXT,
    leased_at BIGINT,
    lease_until BIGINT,
    fence BIGINT NOT NULL DEFAULT 0,
    result TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX tasks_due ON tasks (not_before, id) WHERE state = 'pending';
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE state IN ('running', 'cancelling');
CREATE INDEX tasks_in_order ON tasks (session_id, archive_n) WHERE state IN ('pending', 'running', 'cancelling');
CREATE INDEX tasks_by_owner ON tasks (account, user_id, id);
CREATE INDEX tasks_over ON tasks (updated_at) WHERE state IN ('completed', 'failed', 'cancelled');

-- A passage is an archived exchange, word for word: found by search, never taken for something known.
CREATE TABLE memories (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'decision', 'thread', 'passage')),
    topic TEXT NOT NULL,
    content TEXT NOT NULL,
    confidence BIGINT NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    session_id TEXT,
    archive_n BIGINT,
    source_seq BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    forgotten_at BIGINT
);

CREATE UNIQUE INDEX memories_by_topic ON memories (account, user_id, topic) WHERE forgotten_at IS NULL;
CREATE INDEX memories_known ON memories (account, user_id, updated_at, id) WHERE forgotten_at IS NULL AND kind <> 'passage';
CREATE INDEX memories_by_source ON memories (session_id, archive_n);

CREATE TABLE memory_terms (
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    term TEXT NOT NULL,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    weight BIGINT NOT NULL,
    PRIMARY KEY (account, user_id, term, memory_id)
) /*lite WITHOUT ROWID */;

CREATE INDEX memory_terms_by_memory ON memory_terms (memory_id);

-- What an archive taught: each change with what stood there before, so that it can be taken back.
CREATE TABLE memory_changes (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    archive_n BIGINT NOT NULL,
    place BIGINT NOT NULL,
    memory_id TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (session_id, archive_n, place)
);
