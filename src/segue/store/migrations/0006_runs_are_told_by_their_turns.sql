-- How a run ended stands in its turn, and how a job's last run ended in its runs: neither is written twice.
--
-- A run that became a turn has no outcome of its own any more; those that ended before this have one. The job's
-- last_run_at, last_outcome and last_error are written by older workers only, and go when none is left.

ALTER TABLE turns ADD COLUMN job_id TEXT;
ALTER TABLE turns ADD COLUMN reason TEXT;
ALTER TABLE turns ADD COLUMN prompt_version BIGINT;
ALTER TABLE turns ADD COLUMN rendered_prompt TEXT;

UPDATE turns
SET job_id = (SELECT runs.job_id FROM runs WHERE runs.id = turns.run_id)
WHERE finished_at IS NULL AND run_id IS NOT NULL;

UPDATE runs
SET outcome = 'cancelled', finished_at = queued_at, reason = 'the session that it would have run in is gone'
WHERE outcome IS NULL AND turn_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = runs.turn_id);

CREATE INDEX turns_of_job ON turns (job_id) WHERE job_id IS NOT NULL AND finished_at IS NULL;

DROP INDEX runs_open;
CREATE INDEX runs_unsent ON runs (job_id) WHERE outcome IS NULL AND delivery_id IS NOT NULL;
-- By when they were queued, which never changes: the end of a turn writes to no run, nor to its indexes.
DROP INDEX runs_finished;
CREATE INDEX runs_old ON runs (queued_at);

-- A run with what its turn says of it.
CREATE VIEW runs_told AS
SELECT runs.id, runs.job_id, runs.session_id, runs.slot, runs.turn_id, runs.delivery_id, runs.queued_at,
       turns.started_at,
       COALESCE(runs.finished_at, turns.finished_at) AS finished_at,
       CASE
           WHEN runs.outcome IS NOT NULL THEN runs.outcome
           WHEN turns.finished_at IS NOT NULL THEN turns.outcome
       END AS outcome,
       COALESCE(turns.reason, runs.reason) AS reason,
       runs.lateness_ms, runs.missed_count,
       runs.prompt_ref, runs.prompt_vars, turns.prompt_version,
       COALESCE(runs.rendered_prompt, turns.rendered_prompt) AS rendered_prompt,
       CASE WHEN runs.outcome IS NOT NULL THEN runs.error
            WHEN turns.finished_at IS NOT NULL THEN NULLIF(turns.error, turns.reason)
       END AS error,
       turns.attempt, turns.state AS turn_state, turns.usage, turns.brief, turns.prompt, turns.source
FROM runs
LEFT JOIN turns ON turns.id = runs.turn_id;

-- A job with how its last run ended: the outcome of its newest slot that is over, and when and with what error the
-- newest one ended that had begun. Failures are counted, and their end is told by that one.
CREATE VIEW jobs_told AS
SELECT jobs.id, jobs.session_id, jobs.account, jobs.kind, jobs.name, jobs.state, jobs.state_reason, jobs.protected,
       jobs.trigger_kind, jobs.trigger, jobs.action, jobs.policy, jobs.slot, jobs.next_at, jobs.revision,
       jobs.run_count,
       CASE WHEN (
           SELECT outcome
           FROM runs_told
           WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
           ORDER BY slot DESC
           LIMIT 1) IN ('error', 'interrupted') THEN jobs.failures ELSE 0 END AS failures,
       (SELECT finished_at
        FROM runs_told
        WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
        ORDER BY slot DESC
        LIMIT 1) AS last_run_at,
       (SELECT outcome
        FROM runs_told
        WHERE job_id = jobs.id AND outcome IS NOT NULL
        ORDER BY slot DESC
        LIMIT 1) AS last_outcome,
       (SELECT error
        FROM runs_told
        WHERE job_id = jobs.id AND outcome NOT IN ('skipped', 'missed', 'cancelled')
        ORDER BY slot DESC
        LIMIT 1) AS last_error,
       jobs.created_at, jobs.updated_at
FROM jobs;

DROP VIEW jobs_with_facts;
CREATE VIEW jobs_with_facts AS
SELECT jobs_told.id, jobs_told.session_id, jobs_told.account, jobs_told.kind, jobs_told.name, jobs_told.state,
       jobs_told.state_reason, jobs_told.protected, jobs_told.trigger, jobs_told.action, jobs_told.policy,
       jobs_told.slot, jobs_told.next_at, jobs_told.revision, jobs_told.run_count, jobs_told.failures,
       jobs_told.last_run_at, jobs_told.last_outcome, jobs_told.last_error, jobs_told.created_at,
       jobs_told.updated_at,
       sessions.last_message_at AS heard_at, sessions.timezone AS session_zone,
       CASE WHEN sessions.holder IS NULL AND sessions.ready_at IS NULL THEN 0 ELSE 1 END AS lane_busy,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.job_id = jobs_told.id AND turns.finished_at IS NULL
          AND COALESCE(turns.state, '') = 'queued') AS runs_queued,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.job_id = jobs_told.id AND turns.finished_at IS NULL
          AND COALESCE(turns.state, '') = 'running') AS runs_running
FROM jobs_told
JOIN sessions ON sessions.id = jobs_told.session_id;
