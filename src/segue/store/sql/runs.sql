-- Runs: one row per slot, unique by (job, slot). A run has no state of its own: if it became a turn, the view
-- `runs_told` reads its outcome from the turn.
-- COALESCE around a guard: see turns.sql.

-- columns: run
id, job_id, session_id, slot, turn_id, delivery_id, queued_at, started_at, finished_at, outcome, reason,
lateness_ms, missed_count, prompt_ref, prompt_vars, prompt_version, rendered_prompt, error, attempt,
turn_state, usage, brief, prompt, source

-- name: open
INSERT INTO runs (id, job_id, session_id, slot, turn_id, delivery_id, queued_at, reason, lateness_ms, missed_count)
VALUES (:id, :job_id, :session_id, :slot, :turn_id, :delivery_id, :now, :reason, :lateness_ms, :missed_count)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: open_many
/*pg
WITH opened AS (
    INSERT INTO runs (id, job_id, session_id, slot, turn_id, delivery_id, queued_at, reason, lateness_ms, missed_count)
    SELECT *
    FROM unnest(CAST(:id AS TEXT[]), CAST(:job_id AS TEXT[]), CAST(:session_id AS TEXT[]), CAST(:slot AS BIGINT[]),
                CAST(:turn_id AS TEXT[]), CAST(:delivery_id AS TEXT[]), CAST(:now AS BIGINT[]), CAST(:reason AS TEXT[]),
                CAST(:lateness_ms AS BIGINT[]), CAST(:missed_count AS BIGINT[]))
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id, execution
FROM unnest(CAST(:id AS TEXT[])) WITH ORDINALITY AS given (run, execution)
JOIN opened ON id = run
*/;

-- name: record
-- A slot that never became a turn: skipped or missed. One row may represent many slots.
INSERT INTO runs (id, job_id, session_id, slot, queued_at, finished_at, outcome, reason, lateness_ms, missed_count)
VALUES (:id, :job_id, :session_id, :slot, :now, :now, :outcome, :reason, :lateness_ms, :missed_count)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: close
-- The run of a scheduled message. A run that became a turn takes its outcome from the turn.
UPDATE runs
SET outcome = :outcome, reason = COALESCE(:reason, reason), error = :error, finished_at = :now
WHERE id = :id AND COALESCE(outcome, '') = '';

-- name: outlive
-- Copies the outcome from the turn, which is about to be deleted.
UPDATE runs
SET (outcome, finished_at, reason, error) = (
        SELECT turns.outcome, turns.finished_at, turns.reason, NULLIF(turns.error, turns.reason)
        FROM turns
        WHERE turns.id = runs.turn_id
    )
WHERE id = :id AND COALESCE(outcome, '') = '';

-- name: by_id
SELECT /*columns run*/,
       (SELECT told_as FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery,
       (SELECT error FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery_error
FROM runs_told
WHERE id = :id;

-- name: of_job
SELECT /*columns run*/,
       (SELECT told_as FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery,
       (SELECT error FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery_error
FROM runs_told
WHERE job_id = :job_id AND slot < :before
ORDER BY slot DESC
LIMIT :limit;

-- name: of_session
SELECT /*columns run*/,
       (SELECT told_as FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery,
       (SELECT error FROM deliveries_told WHERE turn_id = runs_told.turn_id) AS delivery_error
FROM runs_told
WHERE session_id = :session_id AND (queued_at, id) < (:before, :before_id)
ORDER BY queued_at DESC, id DESC
LIMIT :limit;

-- name: lengths_and_usage
-- Of the newest runs of a job that started and have ended.
SELECT started_at, finished_at, usage
FROM runs_told
WHERE job_id = :job_id AND started_at IS NOT NULL AND outcome IS NOT NULL
ORDER BY slot DESC
LIMIT :limit;

-- name: used_since
-- What the runs of a session used, in the order in which they were queued.
SELECT runs_told.id, runs_told.job_id, jobs.name, runs_told.slot, runs_told.queued_at, runs_told.started_at,
       runs_told.outcome, runs_told.missed_count, runs_told.usage
FROM runs_told
LEFT JOIN jobs ON jobs.id = runs_told.job_id
WHERE runs_told.session_id = :session_id AND (runs_told.queued_at, runs_told.id) > (:since, :since_id)
ORDER BY runs_told.queued_at, runs_told.id
LIMIT :limit;

-- name: unanswered
-- The reports of a job since its users last wrote, and since it last asked whether to go on.
SELECT COUNT(*) AS count
FROM runs_told
WHERE job_id = :job_id AND outcome = 'ok' AND finished_at > :since
  AND slot > COALESCE((SELECT MAX(slot) FROM runs WHERE job_id = :job_id AND reason LIKE 'renew: %'), 0);

-- name: unsent_of_job
SELECT delivery_id
FROM runs
WHERE job_id = :job_id AND outcome IS NULL AND delivery_id IS NOT NULL
ORDER BY slot;

-- name: end_of_window
-- The moment before which there are so many old runs from `since` on; no row if there are fewer. Most of them may
-- have to stay, and a step of the pruner must not look at all of them again.
SELECT queued_at AS until
FROM runs
WHERE queued_at >= :since AND queued_at < :before
ORDER BY queued_at
LIMIT 1 OFFSET :rows;

-- name: prune_old
-- The newest run of a job stays as long as the job; an ended job is deleted after its last run.
DELETE FROM runs
WHERE id IN (
    SELECT old.id
    FROM runs_told AS old
    WHERE old.queued_at >= :since AND old.queued_at < :until AND old.outcome IS NOT NULL
      AND (EXISTS (SELECT 1 FROM runs AS newer WHERE newer.job_id = old.job_id AND newer.slot > old.slot)
           OR COALESCE((SELECT CASE WHEN state IN ('ended', 'removed') AND updated_at < :before THEN 1 ELSE 0 END
                        FROM jobs
                        WHERE jobs.id = old.job_id), 1) = 1)
)
RETURNING id;

-- name: thin
-- Ended runs of a job, except the newest.
DELETE FROM runs
WHERE id IN (
    SELECT id
    FROM runs_told
    WHERE job_id = :job_id AND outcome IS NOT NULL AND slot <= (
        SELECT slot
        FROM runs
        WHERE job_id = :job_id
        ORDER BY slot DESC
        LIMIT 1 OFFSET :keep
    )
);
