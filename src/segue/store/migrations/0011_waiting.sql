-- A session may wait for its user's answer. Until then, or until this moment, its scheduled turns are held.
ALTER TABLE sessions ADD COLUMN waiting_until BIGINT;

-- What the agent of a session keeps for its next turn, and the question that it asked. Not columns of the session,
-- whose row is written several times in a turn.
CREATE TABLE agent_states (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    saved TEXT NOT NULL DEFAULT '{}',
    waiting TEXT,
    -- The user's turn that answers the question.
    answered_by TEXT
);

DROP VIEW jobs_with_facts;
CREATE VIEW jobs_with_facts AS
SELECT jobs_told.id, jobs_told.session_id, jobs_told.account, jobs_told.kind, jobs_told.name, jobs_told.state,
       jobs_told.state_reason, jobs_told.protected, jobs_told.trigger, jobs_told.action, jobs_told.policy,
       jobs_told.slot, jobs_told.next_at, jobs_told.revision, jobs_told.run_count, jobs_told.failures,
       jobs_told.last_run_at, jobs_told.last_outcome, jobs_told.last_error, jobs_told.created_at,
       jobs_told.updated_at,
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

DROP VIEW sessions_with_counts;
-- A session with what people are shown of it. The counts are those of its live part.
CREATE VIEW sessions_with_counts AS
SELECT sessions.id, sessions.account, sessions.user_id, sessions.key, sessions.chat_type, sessions.title,
       sessions.timezone, sessions.when_busy, sessions.metadata, sessions.created_at, sessions.last_message_at,
       sessions.last_seq, sessions.unarmed, sessions.ready_at, sessions.holder, sessions.fence,
       sessions.waiting_until,
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
