// Upcoming entries of a conversation ("ghosts"), in order of time. Pure.

/** A ghost is `{ kind, id, at, label, item }`, where `item` is the recall, job or message itself. */
export function ghosts(recall, jobs, messages) {
  const upcoming = [];
  if (recall && (recall.status !== "running" || recall.interval_seconds)) {
    upcoming.push(ghost("recall", recall.id, recall.trigger_at, recallLabel(recall), recall));
  }
  for (const job of jobs) {
    if (!job.enabled || !job.state?.next_run_at) continue;
    upcoming.push(ghost("automation", job.id, job.state.next_run_at, job.name, job));
  }
  for (const message of messages) {
    upcoming.push(ghost("message", message.task_id, message.send_at, message.message_text, message));
  }
  return upcoming.sort((one, other) => one.at - other.at || one.id.localeCompare(other.id));
}

export function recallLabel(recall) {
  return recall.internal_comment || (recall.additional_context_message ?? "").split("\n")[0];
}

function ghost(kind, id, at, label, item) {
  return { kind, id, at: new Date(at), label, item };
}
