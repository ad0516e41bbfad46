// What is coming, as ghosts in the order of time. Pure.

/** A ghost: `{ id, kind, at, label, text, of }`, where `of` is the recall, job or message itself. */
export function ghosts(recall, jobs, messages) {
  const coming = [];
  if (recall && (recall.status !== "running" || recall.interval_seconds)) coming.push(ghost("recall", recall.id, recall.trigger_at, recallLabel(recall), recall));
  for (const job of jobs) {
    if (!job.enabled || !job.state?.next_run_at) continue;
    coming.push(ghost("automation", job.id, job.state.next_run_at, job.name, job));
  }
  for (const message of messages) coming.push(ghost("message", message.task_id, message.send_at, message.message_text, message));
  return coming.sort((one, other) => one.at - other.at || one.id.localeCompare(other.id));
}

export function recallLabel(recall) {
  return recall.internal_comment || (recall.additional_context_message ?? "").split("\n")[0];
}

function ghost(kind, id, at, label, of) {
  return { kind, id, at: new Date(at), label, of };
}
