-- Quiet hours and digests: when a session is not spoken to, and answers that are sent together (decisions 0069, 0070).

-- As JSON; NULL: the quiet hours of the settings, no digest.
ALTER TABLE sessions ADD COLUMN quiet TEXT;
ALTER TABLE sessions ADD COLUMN digest TEXT;
-- How many answers wait to be sent through the session's channel.
ALTER TABLE sessions ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

-- A delivery that collects answers has `held_until` until a courier takes it, and counts what it carries. The answers
-- are deliveries themselves, which join it: they are not sent, and end with it.
ALTER TABLE deliveries ADD COLUMN held_until BIGINT;
ALTER TABLE deliveries ADD COLUMN carries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN joins TEXT;

CREATE INDEX deliveries_joined ON deliveries (joins) WHERE joins IS NOT NULL;
CREATE INDEX deliveries_held ON deliveries (session_id, held_until) WHERE held_until IS NOT NULL;

-- The answers of turns that wait, and until when. COALESCE keeps PostgreSQL from scanning the indexes above: a reader
-- looks for the answer of one turn.
CREATE VIEW held_answers AS
SELECT answers.turn_id, carriers.held_until
FROM deliveries AS answers
JOIN deliveries AS carriers ON carriers.id = COALESCE(answers.joins, '')
WHERE answers.turn_id IS NOT NULL AND COALESCE(carriers.held_until, 0) > 0;

DROP VIEW sessions_with_counts;
-- A session with what people are shown of it. The counts are those of its live part.
CREATE VIEW sessions_with_counts AS
SELECT sessions.id, sessions.account, sessions.user_id, sessions.key, sessions.chat_type, sessions.title,
       sessions.timezone, sessions.when_busy, sessions.metadata, sessions.created_at, sessions.last_message_at,
       sessions.last_seq, sessions.unarmed, sessions.ready_at, sessions.holder, sessions.fence,
       sessions.waiting_until, sessions.quiet, sessions.digest, sessions.held,
       sessions.archived_seq, sessions.archives, sessions.live_messages, sessions.live_tokens, sessions.kept_tokens,
       sessions.keep_recent_count, sessions.auto_commit_policy, sessions.commit_at, sessions.last_auto_commit_at,
       sessions.auto_commit_last_error, sessions.auto_commit_last_error_at, sessions.auto_commit_failures,
       -- The words of a turn under way stand in the log, and are counted when it ends.
       sessions.live_messages + (
           SELECT COUNT(*)
           FROM turns
           WHERE turns.session_id = sessions.id AND turns.state = 'running' AND turns.attempt = 1
             AND turns.call IS NULL) AS message_count,
       (SELECT SUBSTR(events.content, 1, 200)
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1) AS last_line,
       (SELECT events.at
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1) AS last_line_at,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.session_id = sessions.id AND turns.state = 'queued') AS queued,
       (SELECT COUNT(*)
        FROM jobs
        WHERE jobs.session_id = sessions.id AND jobs.kind = 'cron' AND jobs.state IN ('active', 'paused')) AS automations,
       told.id AS recall_id, told.state AS recall_state, told.trigger AS recall_trigger,
       told.action AS recall_action, told.slot AS recall_slot, told.next_at AS recall_next_at,
       told.created_at AS recall_created_at, told.updated_at AS recall_updated_at,
       recalls.call_type AS recall_call_type, recalls.comment AS recall_comment,
       -- As in recalls_told, which SQLite would read whole in an outer join.
       (SELECT MAX(CASE WHEN turns.attempt = 0 THEN 'queued' ELSE 'running' END)
        FROM turns
        WHERE turns.job_id = told.id AND turns.finished_at IS NULL) AS recall_turn_state,
       (SELECT MIN(runs.slot)
        FROM turns
        JOIN runs ON runs.id = turns.run_id
        WHERE turns.job_id = told.id AND turns.finished_at IS NULL AND turns.attempt = 0) AS recall_waits_since
FROM sessions
JOIN current_recalls ON current_recalls.session_id = sessions.id
LEFT JOIN jobs AS told ON told.id = current_recalls.recall_id
LEFT JOIN recalls ON recalls.job_id = told.id;

DROP VIEW jobs_with_facts;
CREATE VIEW jobs_with_facts AS
SELECT jobs_told.id, jobs_told.session_id, jobs_told.account, jobs_told.kind, jobs_told.name, jobs_told.state,
       jobs_told.state_reason, jobs_told.protected, jobs_told.trigger, jobs_told.action, jobs_told.policy,
       jobs_told.slot, jobs_told.next_at, jobs_told.revision, jobs_told.run_count, jobs_told.failures,
       jobs_told.last_run_at, jobs_told.last_outcome, jobs_told.last_error, jobs_told.created_at,
       jobs_told.updated_at, jobs_told.replied,
       sessions.last_message_at AS heard_at, sessions.timezone AS session_zone, sessions.quiet AS session_quiet,
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

-- In unified mode: the quiet hours of the common session of a chat's user; empty if it has none of its own.
CREATE VIEW common_sessions AS
SELECT chats.id AS chat_id, COALESCE(common.quiet, '') AS quiet, common.timezone
FROM sessions AS chats
JOIN directory ON directory.account = chats.account AND directory.user_id = chats.user_id
     AND directory.key = 'unified:default'
JOIN sessions AS common ON common.id = directory.session_id
WHERE chats.key NOT LIKE 'cron:%' AND chats.key NOT LIKE 'system:%';
