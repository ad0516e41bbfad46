-- Reservations: what the runs of jobs have reserved and used of budgets.
--
-- A scope without a budget has a first day after all days, so that no row is read for it.

-- columns: used
-- What ended runs have used, and what the others have reserved.
COALESCE(SUM(CASE WHEN settled = 1 THEN usd_micros END), 0) AS usd,
COALESCE(SUM(CASE WHEN settled = 1 THEN tokens END), 0) AS tokens,
COALESCE(SUM(CASE WHEN settled = 1 THEN runs END), 0) AS runs,
COALESCE(SUM(CASE WHEN settled = 0 THEN usd_micros END), 0) AS usd_reserved,
COALESCE(SUM(CASE WHEN settled = 0 THEN tokens END), 0) AS tokens_reserved,
COALESCE(SUM(CASE WHEN settled = 0 THEN runs END), 0) AS runs_reserved

-- name: reserve
-- Inserts the reservation if each budget has room for it and the job is the one that was read. The session's row is
-- locked before, so that two runs of a session do not both find the last room.
INSERT INTO reservations (run_id, job_id, session_id, account, period, usd_micros, tokens, runs, settled)
SELECT CAST(:run_id AS TEXT), jobs.id, jobs.session_id, jobs.account, CAST(:period AS TEXT),
       CAST(:usd_micros AS BIGINT), CAST(:tokens AS BIGINT), 1, 0
FROM jobs
WHERE jobs.id = :job_id AND jobs.revision = :revision
  AND (SELECT COALESCE(SUM(CASE CAST(:job_unit AS TEXT) WHEN 'usd' THEN usd_micros WHEN 'tokens' THEN tokens ELSE runs END), 0)
       FROM reservations
       WHERE reservations.job_id = jobs.id AND period >= :job_since) <= CAST(:job_room AS BIGINT)
  AND (SELECT COALESCE(SUM(CASE CAST(:session_unit AS TEXT) WHEN 'usd' THEN usd_micros WHEN 'tokens' THEN tokens ELSE runs END), 0)
       FROM reservations
       WHERE reservations.session_id = jobs.session_id AND period >= :session_since) <= CAST(:session_room AS BIGINT)
  AND (SELECT COALESCE(SUM(CASE CAST(:account_unit AS TEXT) WHEN 'usd' THEN usd_micros WHEN 'tokens' THEN tokens ELSE runs END), 0)
       FROM reservations
       WHERE reservations.account = jobs.account AND period >= :account_since) <= CAST(:account_room AS BIGINT)
ON CONFLICT DO NOTHING
RETURNING run_id;

-- name: lock_account
-- Two sessions of an account must not both find the last room of its budget. SQLite has one writer.
SELECT 1 AS locked /*pg FROM (SELECT pg_advisory_xact_lock(hashtextextended('budget ' || CAST(:account AS TEXT), 0))) AS taken *//*lite FROM (SELECT :account) AS found */;

-- name: used_by_job
SELECT /*columns used*/
FROM reservations
WHERE job_id = :id AND period >= :since;

-- name: used_by_session
SELECT /*columns used*/
FROM reservations
WHERE session_id = :id AND period >= :since;

-- name: used_by_account
SELECT /*columns used*/
FROM reservations
WHERE account = :id AND period >= :since;

-- name: settle
-- What was used takes the place of what was reserved; what earlier attempts used stays.
UPDATE reservations
SET usd_micros = usd_micros - :reserved_usd + :usd_micros, tokens = tokens - :reserved_tokens + :tokens, runs = :runs,
    settled = 1
WHERE run_id = :run_id;

-- name: add
-- What an attempt used that is followed by another.
UPDATE reservations
SET usd_micros = usd_micros + :usd_micros, tokens = tokens + :tokens
WHERE run_id = :run_id;

-- name: drop
-- Undoes the reservation of a slot that was not taken.
DELETE FROM reservations
WHERE run_id = :run_id AND settled = 0;

-- name: settle_of_session
-- The session is deleted; what its runs have used counts for its account.
UPDATE reservations
SET settled = 1
WHERE session_id = :session_id AND settled = 0;

-- name: give
-- A raise for one period: a use below zero, in one scope only.
INSERT INTO reservations (run_id, job_id, session_id, account, period, usd_micros, tokens, runs, settled)
VALUES (:id, :job_id, :session_id, '', :period, :usd_micros, :tokens, :runs, 1)
ON CONFLICT DO NOTHING
RETURNING run_id;

-- name: take_back
-- Undoes a raise.
DELETE FROM reservations
WHERE run_id = :id
RETURNING run_id;

-- name: refusal
-- The slot that was skipped because a budget had no room.
SELECT reason, queued_at
FROM runs
WHERE id = :run_id AND outcome = 'skipped' AND reason LIKE 'budget: %';

-- name: told
-- Whether the session was told in this period that a budget has no room.
SELECT id
FROM runs
WHERE session_id = :session_id AND (CAST(:job_id AS TEXT) IS NULL OR job_id = :job_id) AND queued_at >= :since
  AND outcome = 'skipped' AND reason LIKE 'budget: %'
LIMIT 1;

-- name: budget_of_session
SELECT budget
FROM session_budgets
WHERE session_id = :session_id;

-- name: set_budget
INSERT INTO session_budgets (session_id, budget)
VALUES (:session_id, :budget)
ON CONFLICT (session_id) DO UPDATE SET budget = EXCLUDED.budget;

-- name: remove_budget
DELETE FROM session_budgets
WHERE session_id = :session_id;

-- name: prune
-- Periods are at most a month.
DELETE FROM reservations
WHERE run_id IN (
    SELECT run_id
    FROM reservations
    WHERE settled = 1 AND period < :before
    ORDER BY period
    LIMIT :limit
)
RETURNING run_id;
