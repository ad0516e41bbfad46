-- The state of a recall is read from its turn, as the outcome of a run is, and the delivery of an answer is found by
-- its turn. Nothing is stored twice.

-- Where in its chat the answer of a turn belongs, such as a topic, as its channel said.
ALTER TABLE turns ADD COLUMN metadata TEXT;

-- The delivery that carries the answer of a turn.
CREATE INDEX deliveries_of_turn ON deliveries (turn_id) WHERE turn_id IS NOT NULL;

-- What readers are told of it: `sent`, `failed` or `unknown`, and NULL while it is on its way.
CREATE VIEW deliveries_told AS
SELECT turn_id,
       CASE
           WHEN state = 'failed' AND error LIKE 'delivery unknown%' THEN 'unknown'
           WHEN state IN ('sent', 'failed') THEN state
       END AS told_as,
       CASE WHEN state = 'failed' THEN error END AS error
FROM deliveries
WHERE turn_id IS NOT NULL;

-- A recall with the state of its unfinished turn and its newest run. `turn_state` is `queued` until the turn starts for
-- the first time, then `running`; NULL without an unfinished turn. `waits_since` is the slot of a turn that waits.
CREATE VIEW recalls_told AS
SELECT jobs.id, jobs.session_id, jobs.state, jobs.trigger, jobs.action, jobs.slot, jobs.next_at, jobs.created_at,
       jobs.updated_at, recalls.call_type, recalls.comment,
       (SELECT MAX(CASE WHEN turns.attempt = 0 THEN 'queued' ELSE 'running' END)
        FROM turns
        WHERE turns.job_id = jobs.id AND turns.finished_at IS NULL) AS turn_state,
       (SELECT MIN(runs.slot)
        FROM turns
        JOIN runs ON runs.id = turns.run_id
        WHERE turns.job_id = jobs.id AND turns.finished_at IS NULL AND turns.attempt = 0) AS waits_since,
       (SELECT runs.slot FROM runs WHERE runs.job_id = jobs.id ORDER BY runs.slot DESC LIMIT 1) AS last_slot,
       (SELECT runs_told.outcome
        FROM runs_told
        WHERE runs_told.job_id = jobs.id
        ORDER BY runs_told.slot DESC
        LIMIT 1) AS outcome
FROM jobs
LEFT JOIN recalls ON recalls.job_id = jobs.id
WHERE jobs.kind = 'recall';

-- The recall of each session: the one that is to come, else one that waits in the lane, else one that runs. In unified
-- mode the lane is that of the common session.
CREATE VIEW current_recalls AS
SELECT sessions.id AS session_id,
       COALESCE(
           (SELECT jobs.id
            FROM jobs
            WHERE jobs.session_id = sessions.id AND jobs.kind = 'recall' AND jobs.state = 'active'),
           (SELECT MIN(jobs.id)
            FROM turns
            JOIN jobs ON jobs.id = turns.job_id
            WHERE turns.state = 'queued'
              AND turns.session_id IN (sessions.id, (
                  SELECT directory.session_id
                  FROM directory
                  WHERE directory.account = sessions.account AND directory.user_id = sessions.user_id
                    AND directory.key = 'unified:default'))
              AND jobs.session_id = sessions.id AND jobs.kind = 'recall' AND jobs.state = 'ended'),
           (SELECT MIN(jobs.id)
            FROM turns
            JOIN jobs ON jobs.id = turns.job_id
            WHERE turns.state = 'running'
              AND turns.session_id IN (sessions.id, (
                  SELECT directory.session_id
                  FROM directory
                  WHERE directory.account = sessions.account AND directory.user_id = sessions.user_id
                    AND directory.key = 'unified:default'))
              AND jobs.session_id = sessions.id AND jobs.kind = 'recall' AND jobs.state = 'ended')
       ) AS recall_id
FROM sessions;

DROP VIEW sessions_with_counts;
-- A session with what people are shown of it. The counts are those of its live part.
CREATE VIEW sessions_with_counts AS
SELECT sessions.id, sessions.account, sessions.user_id, sessions.key, sessions.chat_type, sessions.title,
       sessions.timezone, sessions.when_busy, sessions.metadata, sessions.created_at, sessions.last_message_at,
       sessions.last_seq, sessions.unarmed, sessions.ready_at, sessions.holder, sessions.fence,
       sessions.archived_seq, sessions.archives, sessions.live_messages, sessions.live_tokens, sessions.kept_tokens,
       sessions.keep_recent_count, sessions.auto_commit_policy, sessions.commit_at, sessions.last_auto_commit_at,
       sessions.auto_commit_last_error, sessions.auto_commit_last_error_at, sessions.auto_commit_failures,
       -- The words of a turn under way stand in the log, and are counted when it ends.
       sessions.live_messages + (
           SELECT COUNT(*)
           FROM turns
           WHERE turns.session_id = sessions.id AND turns.state = 'running' AND turns.attempt = 1
             AND turns.call IS NULL) AS message_count,
       (SELECT SUBSTR(events.content, 1, 200)
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1) AS last_line,
       (SELECT events.at
        FROM events
        WHERE events.session_id = sessions.id AND events.role IS NOT NULL
        ORDER BY events.seq DESC
        LIMIT 1) AS last_line_at,
       (SELECT COUNT(*)
        FROM turns
        WHERE turns.session_id = sessions.id AND turns.state = 'queued') AS queued,
       (SELECT COUNT(*)
        FROM jobs
        WHERE jobs.session_id = sessions.id AND jobs.kind = 'cron' AND jobs.state IN ('active', 'paused')) AS automations,
       told.id AS recall_id, told.state AS recall_state, told.trigger AS recall_trigger,
       told.action AS recall_action, told.slot AS recall_slot, told.next_at AS recall_next_at,
       told.created_at AS recall_created_at, told.updated_at AS recall_updated_at,
       recalls.call_type AS recall_call_type, recalls.comment AS recall_comment,
       -- As in recalls_told, which SQLite would read whole in an outer join.
       (SELECT MAX(CASE WHEN turns.attempt = 0 THEN 'queued' ELSE 'running' END)
        FROM turns
        WHERE turns.job_id = told.id AND turns.finished_at IS NULL) AS recall_turn_state,
       (SELECT MIN(runs.slot)
        FROM turns
        JOIN runs ON runs.id = turns.run_id
        WHERE turns.job_id = told.id AND turns.finished_at IS NULL AND turns.attempt = 0) AS recall_waits_since
FROM sessions
JOIN current_recalls ON current_recalls.session_id = sessions.id
LEFT JOIN jobs AS told ON told.id = current_recalls.recall_id
LEFT JOIN recalls ON recalls.job_id = told.id;
