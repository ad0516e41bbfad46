-- Audit: the invariants of the data. Each query must return no row, at any moment.

-- name: two_running_turns
SELECT session_id AS id, COUNT(*) AS found
FROM turns
WHERE state = 'running'
GROUP BY session_id
HAVING COUNT(*) > 1;

-- name: running_without_a_lease
SELECT turns.id, turns.session_id
FROM turns
JOIN sessions ON sessions.id = turns.session_id
WHERE turns.state = 'running' AND (sessions.holder IS NULL OR sessions.fence <> turns.fence);

-- name: leased_without_a_turn
SELECT sessions.id, sessions.holder
FROM sessions
WHERE sessions.holder IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session_id = sessions.id AND turns.state = 'running');

-- name: running_while_waiting
-- The start of any turn ends the waiting.
SELECT turns.id, turns.session_id
FROM turns
JOIN sessions ON sessions.id = turns.session_id
WHERE turns.state = 'running' AND sessions.waiting_until IS NOT NULL;

-- name: waiting_without_a_question
SELECT sessions.id, sessions.waiting_until
FROM sessions
WHERE sessions.waiting_until IS NOT NULL
  AND NOT EXISTS (
      SELECT 1 FROM agent_states
      WHERE agent_states.session_id = sessions.id AND agent_states.waiting IS NOT NULL
        AND agent_states.answered_by IS NULL
  );

-- name: not_held
-- A scheduled turn that may start while the session waits for its user.
SELECT turns.id, turns.session_id
FROM turns
JOIN sessions ON sessions.id = turns.session_id
WHERE turns.state = 'queued' AND turns.run_id IS NOT NULL AND turns.not_before < sessions.waiting_until;

-- name: queued_and_never_ready
-- A lane may be ready later than its turns only if one of them crashed twice and was postponed, or waits for its model.
SELECT turns.id, turns.session_id
FROM turns
JOIN sessions ON sessions.id = turns.session_id
WHERE turns.state = 'queued' AND sessions.holder IS NULL
  AND (sessions.ready_at IS NULL
       OR (sessions.ready_at > turns.not_before
           AND NOT EXISTS (
               SELECT 1 FROM turns AS suspect
               WHERE suspect.session_id = sessions.id AND suspect.state = 'queued' AND suspect.crashes = 2
           )
           AND NOT EXISTS (SELECT 1 FROM model_waits WHERE model_waits.session_id = sessions.id)));

-- name: ready_and_nothing_queued
SELECT sessions.id, sessions.ready_at
FROM sessions
WHERE sessions.ready_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session_id = sessions.id AND turns.state = 'queued');

-- name: wrong_pool
SELECT sessions.id, sessions.user_waits
FROM sessions
WHERE sessions.ready_at IS NOT NULL
  AND sessions.user_waits <> (
      SELECT COUNT(*)
      FROM (SELECT 1 AS one WHERE EXISTS (
          SELECT 1 FROM turns
          WHERE turns.session_id = sessions.id AND turns.state = 'queued' AND turns.run_id IS NULL
      )) AS waiting
  );

-- name: not_as_in_the_directory
SELECT sessions.id, directory.key
FROM sessions
LEFT JOIN directory ON directory.session_id = sessions.id
WHERE directory.session_id IS NULL
   OR (directory.account, directory.user_id, directory.key) <> (sessions.account, sessions.user_id, sessions.key);

-- name: wrong_activity
-- A conversation is listed by its last activity, which is not before its user's last message.
SELECT sessions.id, activity.active_at
FROM sessions
LEFT JOIN activity ON activity.session_id = sessions.id
WHERE sessions.key NOT LIKE 'system:%'
  AND (activity.session_id IS NULL
       OR (activity.account, activity.user_id) <> (sessions.account, sessions.user_id)
       OR activity.active_at < COALESCE(sessions.last_message_at, sessions.created_at));

-- name: wrong_news
-- No more was read or pushed than was said.
SELECT session_id AS id, news
FROM activity
WHERE read_news > news OR pushed_news > news;

-- name: run_without_its_turn
-- Its outcome is read from the turn.
SELECT runs.id, runs.turn_id
FROM runs
WHERE runs.outcome IS NULL AND runs.turn_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = runs.turn_id);

-- name: open_turn_with_a_closed_run
SELECT runs.id, runs.turn_id
FROM runs
JOIN turns ON turns.id = runs.turn_id
WHERE runs.outcome IS NOT NULL AND turns.state IN ('queued', 'running');

-- name: settled_delivery_with_an_open_run
SELECT runs.id, runs.delivery_id
FROM runs
JOIN deliveries ON deliveries.id = runs.delivery_id
WHERE runs.outcome IS NULL AND deliveries.state <> 'pending';

-- name: open_run_of_nothing
SELECT runs.id, runs.job_id
FROM runs
WHERE runs.outcome IS NULL AND runs.turn_id IS NULL AND runs.delivery_id IS NULL;

-- name: started_run_without_a_closure
SELECT runs.id, runs.turn_id
FROM runs
JOIN turns ON turns.id = runs.turn_id
WHERE turns.finished_at IS NOT NULL AND turns.started_at IS NOT NULL AND turns.call IS NULL
  AND (SELECT COUNT(*) FROM events
       WHERE events.session_id = turns.session_id AND events.turn_id = turns.id AND events.role = 'assistant'
         AND events.type = 'stream_end') <> 1;

-- name: held_by_nothing
-- An answer that waits is carried by a delivery of its session that was not sent.
SELECT answers.id, answers.joins
FROM deliveries AS answers
WHERE answers.joins IS NOT NULL AND answers.state = 'pending'
  AND NOT EXISTS (
      SELECT 1 FROM deliveries AS carriers
      WHERE carriers.id = answers.joins AND carriers.session_id = answers.session_id AND carriers.state = 'pending'
        AND carriers.joins IS NULL
  );

-- name: wrong_carried
SELECT carriers.id, carriers.carries
FROM deliveries AS carriers
WHERE (carriers.carries > 0 OR carriers.held_until IS NOT NULL) AND carriers.state = 'pending'
  AND carriers.carries <> (SELECT COUNT(*) FROM deliveries AS answers WHERE answers.joins = carriers.id);

-- name: wrong_held
SELECT sessions.id, sessions.held
FROM sessions
WHERE sessions.held <> (
    SELECT COUNT(*)
    FROM deliveries
    WHERE deliveries.session_id = sessions.id AND deliveries.joins IS NOT NULL AND deliveries.state = 'pending'
);

-- name: open_reservation_without_an_open_run
SELECT reservations.run_id AS id, reservations.job_id
FROM reservations
WHERE reservations.settled = 0
  AND NOT EXISTS (SELECT 1 FROM runs_told WHERE runs_told.id = reservations.run_id AND runs_told.outcome IS NULL);

-- name: open_run_without_its_reservation
SELECT turns.id, turns.run_id
FROM turns
WHERE turns.state IN ('queued', 'running') AND turns.reserved IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM reservations WHERE reservations.run_id = turns.run_id AND reservations.settled = 0);

-- name: replaced_without_a_start
-- A turn counts until the one that replaces it has started.
SELECT replaced_turns.turn_id AS id, replaced_turns.replaced_by
FROM replaced_turns
WHERE NOT EXISTS (
    SELECT 1 FROM events
    WHERE events.session_id = replaced_turns.session_id AND events.turn_id = replaced_turns.replaced_by
      AND events.type = 'stream_start'
);

-- name: started_without_replacing
SELECT turns.id, turns.replaces
FROM turns
WHERE turns.replaces IS NOT NULL AND turns.attempt > 0
  AND NOT EXISTS (
      SELECT 1 FROM replaced_turns
      WHERE replaced_turns.turn_id = turns.replaces AND replaced_turns.replaced_by = turns.id
  );

-- name: gap_in_the_log
SELECT sessions.id, sessions.last_seq
FROM sessions
WHERE sessions.last_seq <> (SELECT COUNT(*) FROM events WHERE events.session_id = sessions.id)
   OR sessions.last_seq <> COALESCE((SELECT MAX(seq) FROM events WHERE events.session_id = sessions.id), 0);

-- name: enabled_job_without_a_next_moment
SELECT id, session_id
FROM jobs
WHERE state = 'active' AND next_at IS NULL AND trigger_kind <> 'idle';

-- name: overdue_slot_without_a_row
SELECT id, next_at
FROM jobs
WHERE next_at IS NOT NULL AND next_at < :horizon;

-- name: orphan_event
SELECT DISTINCT events.session_id AS id, events.type
FROM events
WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = events.session_id);

-- name: wrong_live_part
-- The message that started a running turn is counted when the turn ends; its copy in a chat's log at once.
SELECT sessions.id, sessions.live_messages
FROM sessions
WHERE sessions.kept_tokens < 0 OR sessions.kept_tokens > sessions.live_tokens
   OR (sessions.live_messages, sessions.live_tokens) <> (
    SELECT COUNT(*), CAST(COALESCE(SUM(events.tokens), 0) AS BIGINT)
    FROM events
    WHERE events.session_id = sessions.id AND events.seq > sessions.archived_seq AND events.role IS NOT NULL
      AND NOT (events.type = 'stream_start' AND EXISTS (
          SELECT 1 FROM turns
          WHERE turns.id = events.turn_id AND turns.session_id = events.session_id
            AND turns.state = 'running' AND turns.attempt = 1
      ))
);

-- name: archives_out_of_step
SELECT archives.session_id AS id, archives.n
FROM archives
WHERE archives.first_seq <> 1 + COALESCE((
    SELECT earlier.last_seq
    FROM archives AS earlier
    WHERE earlier.session_id = archives.session_id AND earlier.n = archives.n - 1
), 0);

-- name: archived_without_an_archive
SELECT sessions.id, sessions.archived_seq
FROM sessions
WHERE (sessions.archives, sessions.archived_seq) <> (
    SELECT COUNT(*), COALESCE(MAX(archives.last_seq), 0)
    FROM archives
    WHERE archives.session_id = sessions.id
);

-- name: turn_cut_by_an_archive
SELECT archives.session_id AS id, archives.n
FROM archives
JOIN events AS newest ON newest.session_id = archives.session_id AND newest.seq = (
    SELECT MAX(events.seq)
    FROM events
    WHERE events.session_id = archives.session_id AND events.seq <= archives.last_seq AND events.turn_id IS NOT NULL
)
WHERE EXISTS (
    SELECT 1
    FROM events AS rest
    WHERE rest.session_id = archives.session_id AND rest.seq > archives.last_seq AND rest.turn_id = newest.turn_id
);

-- name: extracting_archive_without_a_task
SELECT archives.session_id AS id, archives.n
FROM archives
WHERE archives.state = 'extracting'
  AND NOT EXISTS (
      SELECT 1 FROM tasks
      WHERE tasks.id = archives.task_id AND tasks.state IN ('pending', 'running', 'cancelling')
  );
