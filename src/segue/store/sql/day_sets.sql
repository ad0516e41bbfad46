-- Day sets of accounts, and which jobs use them in which version.

-- columns: day_set
account, name, content, version, changed_at

-- name: of_account
SELECT /*columns day_set*/
FROM day_sets
WHERE account = :account
ORDER BY name;

-- name: by_name
SELECT /*columns day_set*/
FROM day_sets
WHERE account = :account AND name = :name;

-- name: put
-- Stores a set or its new version. No row comes back if it is the same as before.
INSERT INTO day_sets (account, name, content, version, changed_at, known_until)
VALUES (:account, :name, :content, :version, :now, :known_until)
ON CONFLICT (account, name) DO UPDATE
SET content = excluded.content, version = excluded.version, changed_at = excluded.changed_at,
    known_until = excluded.known_until
WHERE day_sets.version <> excluded.version
RETURNING name;

-- name: remove
DELETE FROM day_sets
WHERE account = :account AND name = :name
RETURNING name;

-- name: use
INSERT INTO job_days (job_id, account, day_set, version)
VALUES (:job_id, :account, :name, :version)
ON CONFLICT (job_id) DO UPDATE
SET day_set = excluded.day_set, version = excluded.version;

-- name: use_none
DELETE FROM job_days
WHERE job_id = :job_id;

-- name: users
-- The jobs that use a set.
SELECT jobs.id, jobs.name
FROM job_days
JOIN jobs ON jobs.id = job_days.job_id
WHERE job_days.account = :account AND job_days.day_set = :name AND jobs.state IN ('active', 'paused')
ORDER BY job_days.job_id
LIMIT :limit;

-- name: behind
-- The jobs that carry another version of their set than the stored one.
SELECT job_days.job_id AS id, day_sets.content
FROM day_sets
JOIN job_days ON job_days.account = day_sets.account AND job_days.day_set = day_sets.name
JOIN jobs ON jobs.id = job_days.job_id
WHERE job_days.version <> day_sets.version AND job_days.job_id > :after AND jobs.state IN ('active', 'paused')
ORDER BY job_days.job_id
LIMIT :limit;

-- name: choose
INSERT INTO session_days (session_id, account, day_set)
VALUES (:session_id, :account, :name)
ON CONFLICT (session_id) DO UPDATE
SET day_set = excluded.day_set;

-- name: choose_none
DELETE FROM session_days
WHERE session_id = :session_id;

-- name: of_session
SELECT day_set
FROM session_days
WHERE session_id = :session_id;

-- name: sessions
-- The sessions that have chosen a set.
SELECT sessions.key
FROM session_days
JOIN sessions ON sessions.id = session_days.session_id
WHERE session_days.account = :account AND session_days.day_set = :name
ORDER BY sessions.key
LIMIT :limit;

-- name: ending
-- The sets of accounts that know no day after this one.
SELECT account, content
FROM day_sets
WHERE known_until > '' AND known_until <= :last
ORDER BY account, name;

-- name: to_warn
-- A job of each session that uses a set and was not told this; without an account, in all accounts.
SELECT jobs.session_id, MIN(jobs.id) AS id, MIN(jobs.name) AS name
FROM job_days
JOIN jobs ON jobs.id = job_days.job_id
LEFT JOIN day_notices ON day_notices.session_id = jobs.session_id AND day_notices.day_set = job_days.day_set
WHERE job_days.day_set = :name AND (CAST(:account AS TEXT) IS NULL OR job_days.account = :account)
  AND jobs.state = 'active' AND (day_notices.notice IS NULL OR day_notices.notice <> :notice)
GROUP BY jobs.session_id
LIMIT :limit;

-- name: tell
-- No row comes back if the session was told this before.
INSERT INTO day_notices (session_id, day_set, notice)
VALUES (:session_id, :name, :notice)
ON CONFLICT (session_id, day_set) DO UPDATE
SET notice = excluded.notice
WHERE day_notices.notice <> excluded.notice
RETURNING session_id;
