-- Turns: queued → running → done | failed | cancelled, and running → queued after a crash or for a retry. Every
-- transition names the state it starts from.
--
-- Why guards are written COALESCE(state, '') = 'running', here and in other files: the row is selected by its id,
-- and the guard must not help PostgreSQL to choose an index. There are partial indexes of queued and running
-- rows. If they are nearly empty when statistics are collected, the planner takes a scan of one for as cheap as a
-- lookup by id. While a backup or an old transaction keeps obsolete entries, that scan walks over every row that
-- left the index since. COALESCE hides the column from the planner (decision 0024).
--
-- A query `x_many`, here and in other files, is the set form of `x` for many callers of PostgreSQL: it takes an
-- array for each parameter. Columns of `given` have names that no table has, so that others need no table name.

-- columns: turn
id, session_id, via_id, run_id, state, rank, not_before, content, prompt, brief, call, source, joined_into,
attempt, crashes, retries, crash, timeout_ms, acted, stop_asked, fence, draft, queued_at, started_at,
finished_at, outcome, reply, error, usage, parts, reserved, replaces

-- name: enqueue
INSERT INTO turns (id, session_id, via_id, job_id, run_id, state, rank, not_before, content, prompt, brief, call,
                   source, joins, waits, retries, crash, timeout_ms, queued_at, metadata, parts, reserved, replaces)
VALUES (:id, :session_id, :via_id, :job_id, :run_id, 'queued', :rank, :not_before, :content, :prompt, :brief, :call,
        :source, :joins, :waits, :retries, :crash, :timeout_ms, :now, :metadata, :parts, :reserved,
        :replaces)
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: enqueue_many
/*pg
WITH queued AS (
    INSERT INTO turns (state, id, session_id, via_id, job_id, run_id, rank, not_before, content, prompt, brief, call,
                       source, joins, waits, retries, crash, timeout_ms, queued_at, metadata, parts, reserved,
                       replaces)
    SELECT 'queued', given.*
    FROM unnest(CAST(:id AS TEXT[]), CAST(:session_id AS TEXT[]), CAST(:via_id AS TEXT[]), CAST(:job_id AS TEXT[]),
                CAST(:run_id AS TEXT[]), CAST(:rank AS BIGINT[]), CAST(:not_before AS BIGINT[]), CAST(:content AS TEXT[]),
                CAST(:prompt AS TEXT[]), CAST(:brief AS TEXT[]), CAST(:call AS TEXT[]), CAST(:source AS TEXT[]),
                CAST(:joins AS BIGINT[]), CAST(:waits AS BIGINT[]), CAST(:retries AS BIGINT[]), CAST(:crash AS TEXT[]),
                CAST(:timeout_ms AS BIGINT[]), CAST(:now AS BIGINT[]), CAST(:metadata AS TEXT[]),
                CAST(:parts AS TEXT[]), CAST(:reserved AS TEXT[]), CAST(:replaces AS TEXT[])) AS given
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
SELECT id, execution
FROM unnest(CAST(:id AS TEXT[])) WITH ORDINALITY AS given (turn, execution)
JOIN queued ON id = turn
*/;

-- name: start_next
-- A call of a function does not report its actions, so it counts as having acted as soon as it starts.
-- `empties_queue`: the turn had waited behind another one, and no turn waits now.
UPDATE turns
SET state = 'running',
    fence = :fence,
    attempt = attempt + 1,
    started_at = :now,
    acted = CASE WHEN call IS NULL THEN :acted ELSE 1 END,
    draft = NULL
WHERE id = (
        SELECT id
        FROM turns
        WHERE session_id = :session_id AND state = 'queued' AND not_before <= :now
        ORDER BY rank, id
        LIMIT 1
    )
  AND COALESCE(state, '') = 'queued'
RETURNING /*columns turn*/,
          CASE WHEN waits = 1 AND NOT EXISTS (
              SELECT 1
              FROM turns AS others
              WHERE others.session_id = turns.session_id AND others.state = 'queued' AND others.id <> turns.id
          ) THEN 1 ELSE 0 END AS empties_queue;

-- name: start_next_many
/*pg
UPDATE turns
SET state = 'running',
    fence = given.new_fence,
    attempt = attempt + 1,
    started_at = given.now,
    acted = CASE WHEN call IS NULL THEN given.new_acted ELSE 1 END,
    draft = NULL
FROM unnest(CAST(:session_id AS TEXT[]), CAST(:fence AS BIGINT[]), CAST(:acted AS BIGINT[]), CAST(:now AS BIGINT[]))
     WITH ORDINALITY AS given (lane, new_fence, new_acted, now, execution)
WHERE id = (
        SELECT id
        FROM turns
        WHERE session_id = given.lane AND state = 'queued' AND not_before <= given.now
        ORDER BY rank, id
        LIMIT 1
    )
  AND COALESCE(state, '') = 'queued'
RETURNING /*columns turn*/,
          CASE WHEN waits = 1 AND NOT EXISTS (
              SELECT 1
              FROM turns AS others
              WHERE others.session_id = turns.session_id AND others.state = 'queued' AND others.id <> turns.id
          ) THEN 1 ELSE 0 END AS empties_queue,
          given.execution
*/;

-- name: finish
UPDATE turns
SET state = :state, outcome = :outcome, reason = :reason, reply = :reply, error = :error, usage = :usage,
    prompt_version = :prompt_version, rendered_prompt = :rendered_prompt, finished_at = :now, draft = NULL
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence
RETURNING id;

-- name: finish_many
/*pg
UPDATE turns
SET state = given.state, outcome = given.outcome, reason = given.reason, reply = given.reply, error = given.error,
    usage = given.usage, prompt_version = given.prompt_version, rendered_prompt = given.rendered_prompt,
    finished_at = given.now, draft = NULL
FROM unnest(CAST(:id AS TEXT[]), CAST(:fence AS BIGINT[]), CAST(:state AS TEXT[]), CAST(:outcome AS TEXT[]),
            CAST(:reason AS TEXT[]), CAST(:reply AS TEXT[]), CAST(:error AS TEXT[]), CAST(:usage AS TEXT[]),
            CAST(:prompt_version AS BIGINT[]), CAST(:rendered_prompt AS TEXT[]), CAST(:now AS BIGINT[]))
     WITH ORDINALITY AS given (id, fence, state, outcome, reason, reply, error, usage, prompt_version, rendered_prompt,
                               now, execution)
WHERE turns.id = given.id AND COALESCE(turns.state, '') = 'running' AND turns.fence = given.fence
RETURNING turns.id, given.execution
*/;

-- name: requeue
UPDATE turns
SET state = 'queued', not_before = :not_before, crashes = :crashes, error = :error, draft = NULL
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence
RETURNING id;

-- name: delay
-- Undoes a start of the same transaction.
UPDATE turns
SET state = 'queued', attempt = attempt - 1, started_at = CASE WHEN attempt > 1 THEN started_at END
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence;

-- name: postpone_queued
UPDATE turns
SET not_before = :not_before
WHERE session_id = :session_id AND state = 'queued' AND not_before < :not_before;

-- name: withdraw_started
-- A turn that was started in this transaction, and whose conditions no longer hold.
UPDATE turns
SET state = 'cancelled', outcome = 'skipped', reason = :reason, error = :reason, finished_at = :now,
    started_at = NULL, attempt = 0
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence;

-- name: users_said
-- What users said in turns that wait.
SELECT content, queued_at
FROM turns
WHERE session_id = :session_id AND state = 'queued' AND run_id IS NULL AND queued_at > :since
ORDER BY id DESC;

-- name: cancel
UPDATE turns
SET state = 'cancelled', outcome = :outcome, reason = :reason, error = :reason, finished_at = :now
WHERE id = :id AND COALESCE(state, '') = 'queued'
RETURNING /*columns turn*/;

-- name: hold_scheduled
-- Scheduled turns wait while the session waits for its user.
UPDATE turns
SET not_before = :until
WHERE session_id = :session_id AND state = 'queued' AND run_id IS NOT NULL AND not_before < :until;

-- name: let_go
-- The turns above may run again.
UPDATE turns
SET not_before = queued_at
WHERE session_id = :session_id AND state = 'queued' AND run_id IS NOT NULL AND not_before = :until;

-- name: put_first
-- The answer to a question stays before all others, also if its worker is lost.
UPDATE turns
SET rank = 0
WHERE id = :id;

-- name: join_into
UPDATE turns
SET state = 'done', outcome = 'ok', joined_into = :host_id, started_at = :now, finished_at = :now
WHERE id = :id AND COALESCE(state, '') = 'queued'
RETURNING id;

-- name: to_join
-- Not a turn that has started before: its message is already in the log.
SELECT id, via_id, content, source, parts
FROM turns
WHERE session_id = :session_id AND state = 'queued' AND joins = 1 AND attempt = 0
ORDER BY rank, id;

-- name: ask_to_stop
UPDATE turns
SET stop_asked = 1
WHERE session_id = :session_id AND state = 'running'
RETURNING id;

-- name: ask_turn_to_stop
UPDATE turns
SET stop_asked = 1
WHERE id = :id AND COALESCE(state, '') = 'running'
RETURNING id;

-- name: ask_job_to_stop
UPDATE turns
SET stop_asked = 1
WHERE session_id = :session_id AND job_id = :job_id AND state = 'running'
RETURNING id;

-- name: to_stop
SELECT turns.id
FROM turns
JOIN sessions ON sessions.id = turns.session_id
WHERE turns.stop_asked = 1 AND turns.finished_at IS NULL AND COALESCE(turns.state, '') = 'running'
  AND COALESCE(sessions.holder, '') = :holder;

-- name: note_act
UPDATE turns
SET acted = 1
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence;

-- name: keep_draft
UPDATE turns
SET draft = :draft
WHERE id = :id AND COALESCE(state, '') = 'running' AND fence = :fence
RETURNING id;

-- name: by_id
SELECT /*columns turn*/
FROM turns
WHERE id = :id;

-- name: of_session
-- The turns that ran or will run in a session and came through a chat, newest first.
SELECT /*columns turn*/
FROM turns
WHERE session_id = :session_id AND id < :before AND via_id = :via_id
ORDER BY id DESC
LIMIT :limit;

-- name: used_since
-- What the users' turns in a session used, in the order of their ids, which is that of time. A message that joined
-- another turn used nothing of its own.
SELECT id, queued_at, started_at, outcome, usage
FROM turns
WHERE session_id = :session_id AND id > :since_id AND run_id IS NULL AND joined_into IS NULL
ORDER BY id
LIMIT :limit;

-- name: running_in
SELECT /*columns turn*/
FROM turns
WHERE session_id = :session_id AND state = 'running';

-- name: queued_in
SELECT /*columns turn*/
FROM turns
WHERE session_id = :session_id AND state = 'queued'
ORDER BY rank, id;

-- name: waiting_in
-- Of the queued turns, only what the session is told about them.
SELECT id, SUBSTR(content, 1, 200) AS content, source
FROM turns
WHERE session_id = :session_id AND state = 'queued'
ORDER BY rank, id;

-- name: waiting_in_many
/*pg
SELECT id, content, source, execution
FROM unnest(CAST(:session_id AS TEXT[])) WITH ORDINALITY AS given (lane, execution)
CROSS JOIN LATERAL (
    SELECT id, SUBSTR(content, 1, 200) AS content, source
    FROM turns
    WHERE session_id = lane AND state = 'queued'
    ORDER BY rank, id
) AS queued
*/;

-- name: between
-- The turns that ran in a session while one of its turns waited.
SELECT /*columns turn*/
FROM turns
WHERE session_id = :session_id AND id <> :id AND joined_into IS NULL
  AND started_at < :until AND COALESCE(finished_at, :until) > :since
ORDER BY started_at
LIMIT :limit;

-- name: lane_now
-- The turns of a session that have not ended, in their order, and the number of running turns in all sessions. If
-- the session has none, one row without a turn.
SELECT turns.id, turns.session_id, turns.via_id, turns.run_id, turns.state, turns.rank, turns.not_before,
       turns.content, turns.prompt, turns.brief, turns.call, turns.source, turns.joined_into, turns.attempt,
       turns.crashes, turns.retries, turns.crash, turns.timeout_ms, turns.acted, turns.stop_asked,
       turns.fence, turns.draft, turns.queued_at, turns.started_at, turns.finished_at, turns.outcome,
       turns.reply, turns.error, turns.usage, turns.parts, turns.reserved, turns.replaces, everywhere.at_work
FROM (SELECT COUNT(*) AS at_work FROM turns WHERE state = 'running') AS everywhere
LEFT JOIN turns ON turns.session_id = :session_id AND turns.state IN ('queued', 'running')
ORDER BY turns.rank, turns.id;

-- name: running_by_model
-- How many turns run with which models, by the short names that their jobs gave. A function or a written text asks no
-- model.
SELECT model, look, COUNT(*) AS running
FROM (
    SELECT /*pg CAST(brief AS JSON) ->> 'model' *//*lite JSON_EXTRACT(brief, '$.model') */ AS model,
           /*pg CAST(brief AS JSON) ->> 'look' *//*lite JSON_EXTRACT(brief, '$.look') */ AS look,
           COALESCE(/*pg CAST(brief AS JSON) ->> 'mode' *//*lite JSON_EXTRACT(brief, '$.mode') */, '') AS mode
    FROM turns
    WHERE state = 'running' AND call IS NULL
) AS at_work
WHERE mode <> 'say'
GROUP BY model, look;

-- name: unsettled_in
-- Turns that have started and not ended: the running one, and those that were requeued. Also turns that another
-- turn waits to replace: a summary must not contain them.
SELECT id, state, attempt
FROM turns
WHERE session_id = :session_id AND (state = 'running' OR (state = 'queued' AND attempt > 0))
UNION ALL
SELECT replaces, 'replaced', 0
FROM turns
WHERE session_id = :session_id AND state = 'queued' AND replaces IS NOT NULL;

-- name: queued_of_job
SELECT turns.id, turns.session_id, turns.run_id, runs.lateness_ms
FROM turns
JOIN runs ON runs.id = turns.run_id
WHERE turns.job_id = :job_id AND turns.finished_at IS NULL AND COALESCE(turns.state, '') = 'queued'
ORDER BY turns.id;

-- name: queued_via
-- The queued turns in a common lane that belong to one chat: its users' turns, and those of its jobs.
SELECT turns.id
FROM turns
LEFT JOIN runs ON runs.id = turns.run_id
WHERE turns.session_id = :session_id AND turns.state = 'queued' AND turns.via_id = :via_id
  AND (turns.run_id IS NULL OR runs.session_id = :via_id)
ORDER BY turns.rank, turns.id;

-- name: metadata
-- Tells a channel where the answer of a turn belongs, for example in which thread.
SELECT metadata
FROM turns
WHERE id = :id;

-- name: redirect
UPDATE turns
SET via_id = :via_id
WHERE id = :id AND COALESCE(state, '') = 'queued';

-- name: with_runs_elsewhere
-- The runs of turns in a common session that belong to jobs of other sessions.
SELECT turns.run_id
FROM turns
JOIN runs ON runs.id = turns.run_id
WHERE turns.session_id = :session_id AND runs.session_id <> :session_id;

-- name: end_of_window
-- As `runs.end_of_window`.
SELECT finished_at AS until
FROM turns
WHERE finished_at IS NOT NULL AND finished_at >= :since AND finished_at < :before
ORDER BY finished_at
LIMIT 1 OFFSET :rows;

-- name: prune
-- Not a turn from which a run reads its outcome. COALESCE: a look-up for each turn, never a scan of all runs.
DELETE FROM turns
WHERE finished_at IS NOT NULL AND finished_at >= :since AND finished_at < :until
  AND COALESCE((SELECT 1 FROM runs WHERE runs.id = turns.run_id), 0) = 0
RETURNING id;
