-- The kernel's tables. One text for both databases.
--
-- Moments are BIGINT milliseconds since 1970 in UTC; ids are TEXT made in Python and sort by time;
-- JSON is TEXT that only rows.py opens. Foreign keys hold what is small. The log (events) has none:
-- it is written only under its session's row lock, and it is the hottest table in the house.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    chat_type TEXT NOT NULL DEFAULT 'private' CHECK (chat_type IN ('private', 'group')),
    title TEXT,
    timezone TEXT,
    when_busy TEXT CHECK (when_busy IN ('enqueue', 'inject', 'interrupt', 'reject')),
    metadata TEXT NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    last_message_at BIGINT,
    last_seq BIGINT NOT NULL DEFAULT 0,
    unarmed BIGINT NOT NULL DEFAULT 0,
    ready_at BIGINT,
    user_waits BIGINT NOT NULL DEFAULT 0,
    holder TEXT,
    leased_at BIGINT,
    lease_until BIGINT,
    fence BIGINT NOT NULL DEFAULT 0,
    last_via_id TEXT,
    -- The live part: what no commit has put away. Of a turn under way nothing is counted.
    archived_seq BIGINT NOT NULL DEFAULT 0,
    archives BIGINT NOT NULL DEFAULT 0,
    live_messages BIGINT NOT NULL DEFAULT 0,
    live_tokens BIGINT NOT NULL DEFAULT 0,
    kept_tokens BIGINT NOT NULL DEFAULT 0,
    keep_recent_count BIGINT NOT NULL DEFAULT 0,
    auto_commit_policy TEXT,
    commit_at BIGINT,
    last_auto_commit_at BIGINT,
    auto_commit_last_error TEXT NOT NULL DEFAULT '',
    auto_commit_last_error_at BIGINT,
    auto_commit_failures BIGINT NOT NULL DEFAULT 0,
    CHECK (holder IS NULL OR ready_at IS NULL)
) /*pg WITH (fillfactor = 70) */;

CREATE INDEX sessions_ready ON sessions (user_waits, account, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX sessions_leased ON sessions (lease_until) WHERE holder IS NOT NULL;
-- An owner's sessions in the order in which they are listed.
CREATE INDEX sessions_newest ON sessions (account, user_id, COALESCE(last_message_at, created_at), id);
CREATE INDEX sessions_to_commit ON sessions (commit_at) WHERE commit_at IS NOT NULL;
-- The last of them: before a table is analysed, two indexes that begin alike cost PostgreSQL the same, and it takes
-- the newer one. By the one above it would walk over all sessions of an owner to find one of them.
CREATE UNIQUE INDEX sessions_by_key ON sessions (account, user_id, key);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    via_id TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    rank BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    content TEXT NOT NULL,
    prompt TEXT,
    brief TEXT,
    call TEXT,
    source TEXT,
    joins BIGINT NOT NULL DEFAULT 0,
    joined_into TEXT,
    attempt BIGINT NOT NULL DEFAULT 0,
    crashes BIGINT NOT NULL DEFAULT 0,
    retries BIGINT NOT NULL DEFAULT 0,
    crash TEXT NOT NULL DEFAULT 'auto' CHECK (crash IN ('auto', 'close', 'rerun')),
    timeout_ms BIGINT NOT NULL,
    acted BIGINT NOT NULL DEFAULT 0,
    stop_asked BIGINT NOT NULL DEFAULT 0,
    fence BIGINT,
    draft TEXT,
    queued_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    outcome TEXT,
    reply TEXT,
    error TEXT,
    usage TEXT
) /*pg WITH (fillfactor = 80) */;

CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE state = 'running';
CREATE INDEX turns_queued ON turns (session_id, rank, id) WHERE state = 'queued';
CREATE INDEX turns_by_session ON turns (session_id, id);
CREATE INDEX turns_to_stop ON turns (id) WHERE state = 'running' AND stop_asked = 1;
CREATE INDEX turns_finished ON turns (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('cron', 'recall', 'message', 'system', 'legacy')),
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'ended', 'removed')),
    state_reason TEXT,
    protected BIGINT NOT NULL DEFAULT 0,
    trigger_kind TEXT NOT NULL CHECK (trigger_kind IN ('at', 'every', 'cron', 'idle')),
    trigger TEXT NOT NULL,
    action TEXT NOT NULL,
    policy TEXT NOT NULL,
    slot BIGINT,
    next_at BIGINT,
    revision BIGINT NOT NULL DEFAULT 1,
    run_count BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,
    last_run_at BIGINT,
    last_outcome TEXT,
    last_error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK (next_at IS NULL OR state = 'active')
) /*pg WITH (fillfactor = 80) */;

CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX jobs_due_by_account ON jobs (account, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX jobs_by_session ON jobs (session_id, id);
CREATE UNIQUE INDEX jobs_one_pending_recall ON jobs (session_id) WHERE kind = 'recall' AND state = 'active';
CREATE INDEX jobs_recalls ON jobs (session_id, created_at, id) WHERE kind = 'recall';
CREATE INDEX jobs_messages ON jobs (session_id, created_at, id) WHERE kind = 'message' AND trigger_kind = 'at';
CREATE INDEX jobs_messages_due ON jobs (session_id, next_at) WHERE kind = 'message' AND next_at IS NOT NULL;
CREATE INDEX jobs_protected ON jobs (account, id) WHERE protected = 1;
CREATE INDEX jobs_over ON jobs (created_at) WHERE state IN ('ended', 'removed');

-- What a recall has beside its job. `depth` counts immediate recalls of which each was set by the one before.
CREATE TABLE recalls (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    call_type TEXT NOT NULL CHECK (call_type IN ('once', 'recurring', 'immediate')),
    comment TEXT,
    depth BIGINT NOT NULL DEFAULT 0
);

-- What a scheduled message has beside its job: which tool calls wrote and cancelled it, and what replaced it.
CREATE TABLE scheduled_messages (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    chat_type TEXT NOT NULL CHECK (chat_type IN ('private', 'group')),
    replace_existing BIGINT NOT NULL DEFAULT 0,
    created_by_tool_call_id TEXT,
    cancelled_by_tool_call_id TEXT,
    replaced_by TEXT
);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    slot BIGINT NOT NULL,
    turn_id TEXT,
    delivery_id TEXT,
    queued_at BIGINT NOT NULL,
    finished_at BIGINT,
    outcome TEXT CHECK (outcome IN ('ok', 'empty', 'error', 'stopped', 'skipped', 'missed', 'interrupted', 'cancelled')),
    reason TEXT,
    lateness_ms BIGINT NOT NULL DEFAULT 0,
    missed_count BIGINT NOT NULL DEFAULT 0,
    prompt_ref TEXT,
    prompt_vars TEXT,
    rendered_prompt TEXT,
    error TEXT,
    UNIQUE (job_id, slot)
);

CREATE INDEX runs_open ON runs (job_id) WHERE outcome IS NULL;
CREATE INDEX runs_by_session ON runs (session_id, queued_at, id);
CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE events (
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    type TEXT NOT NULL,
    turn_id TEXT,
    via_id TEXT,
    at BIGINT NOT NULL,
    role TEXT CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    content TEXT,
    source TEXT,
    body TEXT,
    PRIMARY KEY (session_id, seq)
) /*lite WITHOUT ROWID */;

CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id TEXT,
    turn_id TEXT,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    content TEXT NOT NULL,
    source TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sent', 'failed', 'cancelled')),
    not_before BIGINT NOT NULL,
    holder TEXT,
    leased_at BIGINT,
    lease_until BIGINT,
    fence BIGINT NOT NULL DEFAULT 0,
    attempt BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    sent_at BIGINT,
    sent_message_id TEXT,
    error TEXT
);

CREATE INDEX deliveries_due ON deliveries (not_before, id) WHERE state = 'pending' AND holder IS NULL;
CREATE INDEX deliveries_in_order ON deliveries (session_id, id) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE state = 'pending' AND holder IS NOT NULL;
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE state <> 'pending';
CREATE INDEX deliveries_by_session ON deliveries (session_id, id);

-- Who may talk to us through a channel and is not in the settings: let in by a code, or waiting to be.
CREATE TABLE guests (
    channel TEXT NOT NULL,
    sender TEXT NOT NULL,
    name TEXT,
    code TEXT NOT NULL UNIQUE,
    allowed BIGINT NOT NULL DEFAULT 0,
    came_at BIGINT NOT NULL,
    PRIMARY KEY (channel, sender)
);

-- How far each channel had listened.
CREATE TABLE marks (
    channel TEXT PRIMARY KEY,
    mark TEXT NOT NULL
);

-- A job with what its timer must know to decide: how its session and its own open runs stand.
CREATE VIEW jobs_with_facts AS
SELECT jobs.id, jobs.session_id, jobs.account, jobs.kind, jobs.name, jobs.state, jobs.state_reason, jobs.protected,
       jobs.trigger, jobs.action, jobs.policy, jobs.slot, jobs.next_at, jobs.revision, jobs.run_count,
       jobs.failures, jobs.last_run_at, jobs.last_outcome, jobs.last_error, jobs.created_at, jobs.updated_at,
       sessions.last_message_at AS heard_at, sessions.timezone AS session_zone,
       CASE WHEN sessions.holder IS NULL AND sessions.ready_at IS NULL THEN 0 ELSE 1 END AS lane_busy,
       (SELECT COUNT(*)
        FROM runs
        JOIN turns ON turns.id = runs.turn_id
        WHERE runs.job_id = jobs.id AND runs.outcome IS NULL AND turns.state = 'queued') AS runs_queued,
       (SELECT COUNT(*)
        FROM runs
        JOIN turns ON turns.id = runs.turn_id
        WHERE runs.job_id = jobs.id AND runs.outcome IS NULL AND turns.state = 'running') AS runs_running
FROM jobs
JOIN sessions ON sessions.id = jobs.session_id;
