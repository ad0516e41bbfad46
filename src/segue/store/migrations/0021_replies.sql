-- Replies to a job's message: which message belongs to which run, and what the last reply did.

-- The messages of jobs on chat networks, by the network's own id. A long message has several, one for each part.
CREATE TABLE anchors (
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    job_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (channel, chat_id, message_id)
);

CREATE INDEX anchors_of_session ON anchors (session_id);
CREATE INDEX anchors_by_age ON anchors (created_at);

-- When a job last said something in a session, so that a message is compared with it only if that is recent.
ALTER TABLE activity ADD COLUMN job_said_at BIGINT NOT NULL DEFAULT 0;

-- Whether the text is in the log already, as the answer of a turn is.
ALTER TABLE deliveries ADD COLUMN logged BIGINT NOT NULL DEFAULT 0;

-- The last reply as JSON: its action, words and moment, until when the job is snoozed, when it was done.
ALTER TABLE jobs ADD COLUMN replied TEXT;

DROP VIEW jobs_with_facts;
DROP VIEW jobs_told;

CREATE VIEW jobs_told AS
SELECT jobs.id, jobs.session_id, jobs.account, jobs.kind, jobs.name, jobs.state, jobs.state_reason, jobs.protected,
       jobs.trigger_kind, jobs.trigger, jobs.action, jobs.policy, jobs.slot, jobs.next_at, jobs.revision,
       jobs.run_count,
       CASE WHEN (
           SELECT outcome
           FROM runs_told
           WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
           ORDER BY slot DESC
           LIMIT 1) IN ('error', 'interrupted') THEN jobs.failures ELSE 0 END AS failures,
       (SELECT finished_at
        FROM runs_told
        WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
        ORDER BY slot DESC
        LIMIT 1) AS last_run_at,
       (SELECT outcome
        FROM runs_told
        WHERE job_id = jobs.id AND outcome IS NOT NULL
        ORDER BY slot DESC
        LIMIT 1) AS last_outcome,
       (SELECT error
        FROM runs_told
        WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
        ORDER BY slot DESC
        LIMIT 1) AS last_error,
       jobs.created_at, jobs.updated_at, jobs.replied
FROM jobs;

CREATE VIEW jobs_with_facts AS
SELECT jobs_told.id, jobs_told.session_id, jobs_told.account, jobs_told.kind, jobs_told.name, jobs_told.state,
       jobs_told.state_reason, jobs_told.protected, jobs_told.trigger, jobs_told.action, jobs_told.policy,
       jobs_told.slot, jobs_told.next_at, jobs_told.revision, jobs_told.run_count, jobs_told.failures,
       jobs_told.last_run_at, jobs_told.last_outcome, jobs_told.last_error, jobs_told.created_at,
       jobs_told.updated_at, jobs_told.replied,
       sessions.last_message_at AS heard_at, sessions.timezone AS session_zone,
       CASE WHEN sessions.holder IS NULL AND sessions.ready_at IS NULL THEN 0 ELSE 1 END AS lane_busy,
       sessions.waiting_until,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.job_id = jobs_told.id AND turns.finished_at IS NULL
          AND COALESCE(turns.state, '') = 'queued') AS runs_queued,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.job_id = jobs_told.id AND turns.finished_at IS NULL
          AND COALESCE(turns.state, '') = 'running') AS runs_running
FROM jobs_told
JOIN sessions ON sessions.id = jobs_told.session_id;
