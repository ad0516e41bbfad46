-- Day sets: the working days of an account, from a calendar file.
CREATE TABLE day_sets (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    version TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (account, name)
);

-- The jobs whose trigger carries such a set, and which version of it. Apart from the jobs, so that jobs without one
-- cost nothing more.
CREATE TABLE job_days (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    day_set TEXT NOT NULL,
    version TEXT NOT NULL
);
CREATE INDEX job_days_by_set ON job_days (account, day_set, job_id);
