-- The runs: one row for every slot, unique by (job, slot). A run has no state of its own.

-- name: open
INSERT INTO runs (id, job_id, session_id, slot, turn_id, delivery_id, queued_at, reason, lateness_ms, missed_count)
VALUES (:id, :job_id, :session_id, :slot, :turn_id, :delivery_id, :now, :reason, :lateness_ms, :missed_count)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: record
-- A slot that never became a turn: skipped or missed. One row may stand for many slots.
INSERT INTO runs (id, job_id, session_id, slot, queued_at, finished_at, outcome, reason, lateness_ms, missed_count)
VALUES (:id, :job_id, :session_id, :slot, :now, :now, :outcome, :reason, :lateness_ms, :missed_count)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: close
UPDATE runs
SET outcome = :outcome, reason = COALESCE(:reason, reason), error = :error, finished_at = :now,
    prompt_ref = :prompt_ref, prompt_vars = :prompt_vars, rendered_prompt = :rendered_prompt
WHERE id = :id AND COALESCE(outcome, '') = '';

-- name: by_id
SELECT runs.id, runs.job_id, runs.session_id, runs.slot, runs.turn_id, runs.delivery_id, runs.queued_at,
       runs.finished_at, runs.outcome, runs.reason, runs.lateness_ms, runs.missed_count, runs.error,
       runs.prompt_ref, runs.prompt_vars, runs.rendered_prompt,
       turns.started_at, turns.attempt, turns.state AS turn_state, turns.usage, turns.brief, turns.prompt, turns.source
FROM runs
LEFT JOIN turns ON turns.id = runs.turn_id
WHERE runs.id = :id;

-- name: of_job
SELECT runs.id, runs.job_id, runs.session_id, runs.slot, runs.turn_id, runs.delivery_id, runs.queued_at,
       runs.finished_at, runs.outcome, runs.reason, runs.lateness_ms, runs.missed_count, runs.error,
       runs.prompt_ref, runs.prompt_vars, runs.rendered_prompt,
       turns.started_at, turns.attempt, turns.state AS turn_state, turns.usage, turns.brief, turns.prompt, turns.source
FROM runs
LEFT JOIN turns ON turns.id = runs.turn_id
WHERE runs.job_id = :job_id AND runs.slot < :before
ORDER BY runs.slot DESC
LIMIT :limit;

-- name: of_session
SELECT runs.id, runs.job_id, runs.session_id, runs.slot, runs.turn_id, runs.delivery_id, runs.queued_at,
       runs.finished_at, runs.outcome, runs.reason, runs.lateness_ms, runs.missed_count, runs.error,
       runs.prompt_ref, runs.prompt_vars, runs.rendered_prompt,
       turns.started_at, turns.attempt, turns.state AS turn_state, turns.usage, turns.brief, turns.prompt, turns.source
FROM runs
LEFT JOIN turns ON turns.id = runs.turn_id
WHERE runs.session_id = :session_id AND (runs.queued_at, runs.id) < (:before, :before_id)
ORDER BY runs.queued_at DESC, runs.id DESC
LIMIT :limit;

-- name: open_of_job
SELECT runs.id, runs.turn_id, runs.delivery_id, turns.state AS turn_state
FROM runs
LEFT JOIN turns ON turns.id = runs.turn_id
WHERE runs.job_id = :job_id AND runs.outcome IS NULL
ORDER BY runs.slot;

-- name: prune_old
-- The newest run of a job stays as long as the job does, and a job that is over goes with its last one.
DELETE FROM runs
WHERE id IN (
    SELECT old.id
    FROM runs AS old
    WHERE old.finished_at IS NOT NULL AND old.finished_at < :before
      AND (EXISTS (SELECT 1 FROM runs AS newer WHERE newer.job_id = old.job_id AND newer.slot > old.slot)
           OR COALESCE((SELECT CASE WHEN state IN ('ended', 'removed') AND updated_at < :before THEN 1 ELSE 0 END
                        FROM jobs
                        WHERE jobs.id = old.job_id), 1) = 1)
    ORDER BY old.finished_at
    LIMIT :limit
)
RETURNING id;

-- name: thin
-- All but the newest of a job that have ended.
DELETE FROM runs
WHERE job_id = :job_id AND outcome IS NOT NULL AND slot <= (
    SELECT slot
    FROM runs
    WHERE job_id = :job_id
    ORDER BY slot DESC
    LIMIT 1 OFFSET :keep
);
