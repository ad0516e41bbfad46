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
       (SELECT COUNT(*)
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL) AS message_count,
       (SELECT CAST(COALESCE(SUM(events.tokens), 0) AS BIGINT)
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL) AS pending_tokens,
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
        WHERE jobs.session_id = sessions.id AND jobs.kind = 'cron' AND jobs.state IN ('active', 'paused')) AS automations
FROM sessions;

-- What could not be delivered, the newest first, for whoever looks after the house.
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
