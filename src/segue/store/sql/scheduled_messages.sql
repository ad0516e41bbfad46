-- Scheduled messages: the columns that such a job has in addition to those of a job, and its outcome. They are
-- sent once; a `Say` that repeats is a plain job.

-- name: create
INSERT INTO scheduled_messages (job_id, chat_type, replace_existing, created_by_tool_call_id)
VALUES (:job_id, :chat_type, :replace_existing, :created_by_tool_call_id)
ON CONFLICT (job_id) DO NOTHING;

-- name: note_cancel
-- Inserts, because a message that was scheduled as a plain job has no row yet.
INSERT INTO scheduled_messages (job_id, chat_type, cancelled_by_tool_call_id, replaced_by)
VALUES (:job_id, :chat_type, :cancelled_by_tool_call_id, :replaced_by)
ON CONFLICT (job_id) DO UPDATE
SET cancelled_by_tool_call_id = excluded.cancelled_by_tool_call_id, replaced_by = excluded.replaced_by;

-- name: by_id
SELECT jobs.id, jobs.session_id, jobs.state, jobs.trigger, jobs.action, jobs.created_at, jobs.updated_at,
       scheduled_messages.chat_type, scheduled_messages.replace_existing,
       scheduled_messages.created_by_tool_call_id, scheduled_messages.cancelled_by_tool_call_id,
       scheduled_messages.replaced_by,
       runs.id AS run_id, runs.outcome, runs.finished_at, runs.error,
       deliveries.sent_message_id, deliveries.sent_at, deliveries.error AS delivery_error
FROM jobs
LEFT JOIN scheduled_messages ON scheduled_messages.job_id = jobs.id
LEFT JOIN runs ON runs.job_id = jobs.id AND runs.slot = (SELECT MAX(slot) FROM runs WHERE runs.job_id = jobs.id)
LEFT JOIN deliveries ON deliveries.id = runs.delivery_id
WHERE jobs.id = :id AND jobs.kind = 'message' AND jobs.trigger_kind = 'at';

-- name: of_session
SELECT jobs.id, jobs.session_id, jobs.state, jobs.trigger, jobs.action, jobs.created_at, jobs.updated_at,
       scheduled_messages.chat_type, scheduled_messages.replace_existing,
       scheduled_messages.created_by_tool_call_id, scheduled_messages.cancelled_by_tool_call_id,
       scheduled_messages.replaced_by,
       runs.id AS run_id, runs.outcome, runs.finished_at, runs.error,
       deliveries.sent_message_id, deliveries.sent_at, deliveries.error AS delivery_error
FROM jobs
LEFT JOIN scheduled_messages ON scheduled_messages.job_id = jobs.id
LEFT JOIN runs ON runs.job_id = jobs.id AND runs.slot = (SELECT MAX(slot) FROM runs WHERE runs.job_id = jobs.id)
LEFT JOIN deliveries ON deliveries.id = runs.delivery_id
WHERE jobs.session_id = :session_id AND jobs.kind = 'message' AND jobs.trigger_kind = 'at'
  AND (jobs.created_at, jobs.id) < (:before, :before_id)
  AND (CAST(:status AS TEXT) IS NULL OR :status = CASE
           WHEN runs.id IS NULL AND jobs.state IN ('active', 'paused') THEN 'pending'
           WHEN runs.id IS NULL THEN 'cancelled'
           WHEN runs.outcome IS NULL THEN 'pending'
           WHEN runs.outcome = 'ok' THEN 'sent'
           WHEN runs.outcome IN ('cancelled', 'skipped') THEN 'cancelled'
           ELSE 'failed'
       END)
ORDER BY jobs.created_at DESC, jobs.id DESC
LIMIT :limit;

-- name: pending
-- Messages that are not due yet, and due ones that are not marked as sent or failed.
SELECT jobs.id
FROM jobs
WHERE jobs.session_id = :session_id AND jobs.kind = 'message' AND jobs.trigger_kind = 'at'
  AND (jobs.state IN ('active', 'paused')
       OR EXISTS (SELECT 1 FROM runs WHERE runs.job_id = jobs.id AND runs.outcome IS NULL))
ORDER BY jobs.created_at, jobs.id;

-- name: replaced_by
SELECT jobs.id
FROM jobs
JOIN scheduled_messages ON scheduled_messages.job_id = jobs.id
WHERE jobs.session_id = :session_id AND jobs.kind = 'message' AND jobs.trigger_kind = 'at'
  AND scheduled_messages.replaced_by = :id
ORDER BY jobs.created_at, jobs.id;
