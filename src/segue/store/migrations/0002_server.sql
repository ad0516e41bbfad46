-- What a server adds: calls that may reach us twice, and what is counted in a session.

-- By the estimate of tokens.py, so that a sum needs no text. What an older worker writes meanwhile counts 0.
ALTER TABLE events ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;

CREATE TABLE requests (
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    result TEXT,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (account, user_id, name)
);

CREATE INDEX requests_old ON requests (made_at);

-- A session with what people are shown of it. The counts are those of its live part.
CREATE VIEW sessions_with_counts AS
SELECT sessions.id, sessions.account, sessions.user_id, sessions.key, sessions.chat_type, sessions.title,
       sessions.timezone, sessions.when_busy, sessions.metadata, sessions.created_at, sessions.last_message_at,
       sessions.last_seq, sessions.unarmed, sessions.ready_at, sessions.holder, sessions.fence,
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
       pending.id AS recall_id, pending.trigger AS recall_trigger, pending.action AS recall_action,
       pending.next_at AS recall_next_at, pending.created_at AS recall_created_at,
       pending.updated_at AS recall_updated_at, recalls.call_type AS recall_call_type,
       recalls.comment AS recall_comment
FROM sessions
LEFT JOIN jobs AS pending
       ON pending.session_id = sessions.id AND pending.kind = 'recall' AND pending.state = 'active'
LEFT JOIN recalls ON recalls.job_id = pending.id;

-- What could not be delivered, the newest first, for whoever looks after the house.
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
