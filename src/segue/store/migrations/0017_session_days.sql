-- The day set that words about working days mean in a session. Not a column of the session, whose row is written several
-- times in a turn.
CREATE TABLE session_days (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    day_set TEXT NOT NULL
);
CREATE INDEX session_days_by_set ON session_days (account, day_set);

-- The last day that a set knows.
ALTER TABLE day_sets ADD COLUMN known_until TEXT NOT NULL DEFAULT '';
CREATE INDEX day_sets_by_end ON day_sets (known_until);

-- What a session was last told about the end of a set that its jobs use.
CREATE TABLE day_notices (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    day_set TEXT NOT NULL,
    notice TEXT NOT NULL,
    PRIMARY KEY (session_id, day_set)
);
CREATE INDEX job_days_by_name ON job_days (day_set, account);
