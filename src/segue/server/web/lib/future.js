// Upcoming entries of a conversation ("ghosts"), in order of time. Pure.

import { t } from "./words.js";

/** A ghost is `{ kind, id, at, label, item }`, where `item` is the recall, job or message itself. */
export function ghosts(recall, jobs, messages) {
  const upcoming = [];
  if (recall && (recall.status !== "running" || recall.interval_seconds)) {
    upcoming.push(ghost("recall", recall.id, recall.trigger_at, recallLabel(recall), recall));
  }
  for (const job of jobs) {
    if (!job.enabled || !job.state?.next_run_at || isRuledOut(job)) continue;
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

/** Whether something was said or done that rules the next run out, so that it will not be heard of. */
export const isRuledOut = (job) => job.state?.unmet?.startsWith("unless: ") ?? false;

/** The condition of an automation in a few words: `unless answered`; empty if it has none. */
export function conditionOf({ policy }) {
  if (!policy?.when) return "";
  const [{ if: test }, ...more] = policy.when;
  return t(!more.length && /^(unanswered|not_done|quiet)$/.test(test) ? `short_${test}` : "short_condition");
}
