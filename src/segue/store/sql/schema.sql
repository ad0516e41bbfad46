-- Schema: applied migrations, and the state of the database.

-- name: lift_time_limits
-- Lifts the time limits: a migration may wait for another process, and may take long.
/*pg SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true) *//*lite SELECT 1 */;

-- name: lock
-- One process migrates and the others wait for it. The key is "segue" in base 36.
/*pg SELECT pg_advisory_xact_lock(47704262) *//*lite SELECT 1 */;

-- name: is_there
-- Whether the table exists: a new database does not have it.
/*pg SELECT 1 AS found WHERE to_regclass('schema_migrations') IS NOT NULL *//*lite
SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations' */;

-- name: create
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at BIGINT NOT NULL
);

-- name: applied
SELECT version, name, sha256
FROM schema_migrations
ORDER BY version;

-- name: record
INSERT INTO schema_migrations (version, name, sha256, applied_at)
VALUES (:version, :name, :sha256, :now);

-- name: oldest_transaction
-- PostgreSQL keeps every row version that was replaced since it began, which slows all queries.
/*pg
SELECT pid, application_name AS program,
       CAST(EXTRACT(EPOCH FROM clock_timestamp() - xact_start) * 1000 AS BIGINT) AS ms
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walsender')
  AND backend_xmin IS NOT NULL AND xact_start IS NOT NULL
ORDER BY xact_start
LIMIT 1 *//*lite SELECT 0 AS pid, '' AS program, 0 AS ms LIMIT 0 */;

-- name: touch
-- A small write. Run twice with opposite numbers, it changes nothing.
UPDATE schema_migrations
SET applied_at = applied_at + :by
WHERE version = 1;

-- name: use_disk_space
-- Makes PostgreSQL use 256 KiB of disk during the transaction. For SQLite, the driver checks the free space.
/*pg
CREATE TEMP TABLE IF NOT EXISTS segue_trial ON COMMIT DROP AS
SELECT REPEAT('x', 1000) AS filler FROM generate_series(1, 256) *//*lite SELECT 1 */;
