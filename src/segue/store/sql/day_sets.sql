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
INSERT INTO day_sets (account, name, content, version, changed_at)
VALUES (:account, :name, :content, :version, :now)
ON CONFLICT (account, name) DO UPDATE
SET content = excluded.content, version = excluded.version, changed_at = excluded.changed_at
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
