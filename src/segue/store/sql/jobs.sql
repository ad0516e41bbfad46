-- Jobs. A write names the revision that was read, so that it misses after an edit, a pause or the fire of
-- another timer.
--
-- Lists hide the limit from PostgreSQL: if the planner knows it, it makes a new plan for each call, which takes
-- longer than the query.

-- columns: job
id, session_id, account, kind, name, state, state_reason, protected, trigger, action, policy, slot, next_at,
revision, run_count, failures, last_run_at, last_outcome, last_error, created_at, updated_at, replied

-- columns: facts
-- Of the session of a due job, and in unified mode of the common session that its turn runs in.
heard_at, session_zone, session_quiet, lane_busy, waiting_until, runs_queued, runs_running,
(SELECT budget FROM session_budgets WHERE session_budgets.session_id = jobs_with_facts.session_id) AS session_budget,
(SELECT quiet
 FROM common_sessions
 WHERE :unified = 1 AND chat_id = jobs_with_facts.session_id AND jobs_with_facts.kind IN ('cron', 'recall')
) AS common_quiet,
(SELECT timezone
 FROM common_sessions
 WHERE :unified = 1 AND chat_id = jobs_with_facts.session_id AND jobs_with_facts.kind IN ('cron', 'recall')
) AS common_zone

-- name: create
INSERT INTO jobs (id, session_id, account, kind, name, state, protected, trigger_kind, trigger, action, policy,
                  slot, next_at, created_at, updated_at)
VALUES (:id, :session_id, :account, :kind, :name, 'active', :protected, :trigger_kind, :trigger, :action, :policy,
        :slot, :next_at, :now, :now)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: create_many
/*pg
WITH created AS (
    INSERT INTO jobs (state, id, session_id, account, kind, name, protected, trigger_kind, trigger, action, policy,
                      slot, next_at, created_at, updated_at)
    SELECT 'active', given.*
    FROM unnest(CAST(:id AS TEXT[]), CAST(:session_id AS TEXT[]), CAST(:account AS TEXT[]), CAST(:kind AS TEXT[]),
                CAST(:name AS TEXT[]), CAST(:protected AS BIGINT[]), CAST(:trigger_kind AS TEXT[]),
                CAST(:trigger AS TEXT[]), CAST(:action AS TEXT[]), CAST(:policy AS TEXT[]), CAST(:slot AS BIGINT[]),
                CAST(:next_at AS BIGINT[]), CAST(:now AS BIGINT[]), CAST(:now AS BIGINT[])) AS given
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id, execution
FROM unnest(CAST(:id AS TEXT[])) WITH ORDINALITY AS given (job, execution)
JOIN created ON id = job
*/;

-- name: by_id
SELECT /*columns job*/
FROM jobs_told
WHERE id = :id;

-- name: of_session
-- The jobs of a session, newest first; ended ones on request. An empty kind stands for all kinds, `cron` for the
-- jobs that users made.
SELECT /*columns job*/
FROM jobs_told
WHERE session_id = :session_id
  AND (:kind IN ('', kind) OR (:kind = 'cron' AND kind = 'legacy'))
  AND (state IN ('active', 'paused') OR (state = 'ended' AND :ended = 1))
  AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC
LIMIT (SELECT CAST(:limit AS BIGINT));

-- name: protected
-- The system's own jobs that run in sessions of a user.
SELECT jobs.id, jobs.session_id, jobs.account, jobs.kind, jobs.name, jobs.state, jobs.state_reason, jobs.protected,
       jobs.trigger, jobs.action, jobs.policy, jobs.slot, jobs.next_at, jobs.revision, jobs.run_count, jobs.failures,
       jobs.last_run_at, jobs.last_outcome, jobs.last_error, jobs.created_at, jobs.updated_at, jobs.replied
FROM jobs_told AS jobs
JOIN sessions ON sessions.id = jobs.session_id
WHERE jobs.account = :account AND jobs.protected = 1 AND jobs.state IN ('active', 'paused')
  AND sessions.user_id = :user_id
ORDER BY jobs.id
LIMIT (SELECT CAST(:limit AS BIGINT));

-- name: at_work
-- The jobs of a session that have a queued or running run.
SELECT jobs.id
FROM jobs
JOIN turns ON turns.job_id = jobs.id AND turns.finished_at IS NULL
WHERE jobs.session_id = :session_id
UNION
SELECT jobs.id
FROM jobs
JOIN runs ON runs.job_id = jobs.id AND runs.outcome IS NULL AND runs.delivery_id IS NOT NULL
WHERE jobs.session_id = :session_id;

-- name: automation_count
SELECT COUNT(*) AS count
FROM jobs
WHERE session_id = :session_id AND kind = 'cron' AND state IN ('active', 'paused');

-- name: blocking
-- The jobs that a user must confirm before the session is deleted.
SELECT /*columns job*/
FROM jobs_told
WHERE session_id = :session_id AND kind = 'cron' AND state IN ('active', 'paused')
ORDER BY id;

-- name: due
SELECT /*columns job*/,
       /*columns facts*/
FROM jobs_with_facts
WHERE next_at >= :since AND next_at <= :now AND next_at IS NOT NULL
ORDER BY next_at
LIMIT :limit;

-- name: due_of_account
SELECT /*columns job*/,
       /*columns facts*/
FROM jobs_with_facts
WHERE account = :account AND next_at >= :since AND next_at <= :now AND next_at IS NOT NULL
ORDER BY next_at
LIMIT :limit;

-- name: next_account
-- One index lookup per account, never a scan of an account's jobs.
SELECT MIN(account) AS account
FROM jobs
WHERE account > :account AND next_at >= :since AND next_at IS NOT NULL;

-- name: next_due
SELECT MIN(next_at) AS next_at
FROM jobs
WHERE next_at >= :since AND next_at IS NOT NULL;

-- name: take
UPDATE jobs
SET slot = :slot, next_at = :next_at, state = :state, state_reason = :state_reason, replied = :replied,
    run_count = run_count + CASE WHEN EXISTS (SELECT 1 FROM runs WHERE runs.id = :fires) THEN 0 ELSE :fired END,
    revision = revision + 1, updated_at = :now
WHERE id = :id AND revision = :revision AND next_at IS NOT NULL
RETURNING id;

-- name: take_many
/*pg
UPDATE jobs
SET slot = given.new_slot, next_at = given.new_next_at, state = given.new_state, state_reason = given.new_reason,
    replied = given.new_replied,
    run_count = run_count + CASE WHEN EXISTS (SELECT 1 FROM runs WHERE runs.id = given.fires) THEN 0 ELSE given.fired END,
    revision = revision + 1, updated_at = given.now
FROM unnest(CAST(:id AS TEXT[]), CAST(:revision AS BIGINT[]), CAST(:slot AS BIGINT[]), CAST(:next_at AS BIGINT[]),
            CAST(:state AS TEXT[]), CAST(:state_reason AS TEXT[]), CAST(:fires AS TEXT[]), CAST(:fired AS BIGINT[]),
            CAST(:now AS BIGINT[]), CAST(:replied AS TEXT[]))
     WITH ORDINALITY AS given (job, read_revision, new_slot, new_next_at, new_state, new_reason, fires, fired, now,
                                  new_replied, execution)
WHERE id = given.job AND revision = given.read_revision AND next_at IS NOT NULL
RETURNING id, given.execution
*/;

-- name: change
UPDATE jobs
SET name = :name, trigger_kind = :trigger_kind, trigger = :trigger, action = :action, policy = :policy,
    state = :state, state_reason = :state_reason, slot = :slot, next_at = :next_at, failures = :failures,
    replied = :replied, revision = revision + 1, updated_at = :now
WHERE id = :id AND revision = :revision
RETURNING id;

-- name: arm
UPDATE jobs
SET slot = :next_at, next_at = :next_at, revision = revision + 1
WHERE id = :id AND state = 'active' AND next_at IS NULL;

-- name: look_again
-- Slots that conditions postponed are looked at with the next message.
UPDATE jobs
SET next_at = :now, revision = revision + 1
WHERE session_id = :session_id AND state = 'active' AND slot <= :now AND next_at > :now
  AND (state_reason LIKE 'unless: %' OR state_reason LIKE 'only if %');

-- name: look_after_quiet
-- The quiet hours of a session were changed: jobs of its owner that wait for their end are looked at again.
UPDATE jobs
SET next_at = :now, revision = revision + 1
WHERE session_id IN (SELECT session_id FROM activity WHERE account = :account AND user_id = :user_id)
  AND COALESCE(state, '') = 'active' AND slot <= :now AND COALESCE(next_at, 0) > :now
  AND state_reason LIKE 'quiet hours until %';

-- name: unarmed_of_session
SELECT /*columns job*/
FROM jobs_told
WHERE session_id = :session_id AND trigger_kind = 'idle' AND state = 'active' AND next_at IS NULL
ORDER BY id;

-- name: fail
-- Whether it failed before is read from its last run that started: a success does not write to this table.
UPDATE jobs
SET failures = 1 + CASE WHEN (
        SELECT COALESCE(runs.outcome, turns.outcome)
        FROM runs
        LEFT JOIN turns ON turns.id = runs.turn_id
        WHERE runs.job_id = :id AND runs.id <> :run_id
          AND COALESCE(runs.outcome, turns.outcome) NOT IN ('skipped', 'missed', 'cancelled')
        ORDER BY runs.slot DESC
        LIMIT 1
    ) IN ('error', 'interrupted') THEN failures ELSE 0 END,
    updated_at = :now
WHERE id = :id
RETURNING failures, state;

-- name: pause
UPDATE jobs
SET state = 'paused', state_reason = :reason, slot = NULL, next_at = NULL, revision = revision + 1, updated_at = :now
WHERE id = :id AND state = 'active'
RETURNING id;

-- name: end_of_window
-- As `runs.end_of_window`.
SELECT created_at AS until
FROM jobs
WHERE state IN ('ended', 'removed') AND created_at >= :since AND created_at < :before
ORDER BY created_at
LIMIT 1 OFFSET :rows;

-- name: prune
-- Deletes ended jobs that have no run left; the newest runs are kept, so most jobs stay. Selected by created_at,
-- which never changes: with an index on updated_at, every run would have to update the table's indexes.
DELETE FROM jobs
WHERE state IN ('ended', 'removed') AND created_at >= :since AND created_at < :until AND updated_at < :before
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.job_id = jobs.id)
RETURNING id;
