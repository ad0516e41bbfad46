-- When something last happened in a session, by which sessions are listed.
--
-- Apart from the directory, whose rows do not change any more: this moment moves with every message, and a changed
-- row is entered again in all indexes of its table. The system's own sessions are not listed, so they have no row.
CREATE TABLE activity (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    active_at BIGINT NOT NULL
);

INSERT INTO activity (session_id, account, user_id, active_at)
SELECT session_id, account, user_id, heard_at
FROM directory
WHERE key NOT LIKE 'system:%';

UPDATE activity
SET active_at = (
        SELECT events.at
        FROM events
        WHERE events.session_id = activity.session_id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1
    )
WHERE active_at < (
        SELECT events.at
        FROM events
        WHERE events.session_id = activity.session_id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1
    );

-- An owner's sessions in the order in which they are listed, and those of all users of an account.
CREATE INDEX activity_newest ON activity (account, user_id, active_at, session_id);
CREATE INDEX activity_newest_in_account ON activity (account, active_at, session_id);

DROP INDEX directory_newest;
DROP INDEX directory_newest_in_account;
ALTER TABLE directory DROP COLUMN heard_at;
