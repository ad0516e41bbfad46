// Actions on recalls, automations and scheduled messages. Removals can be undone for ten seconds.

import { inPath, post, remove } from "./api.js";
import { refused, toast } from "./toast.js";
import { t } from "./words.js";

const UNDO_MS = 10_000;
const pathOf = (job) => `automations/${inPath(job.id)}`;

/** The actions of a ghost: `name` is a key of the catalogue. */
export function actionsOf(ghost, chat) {
  const item = ghost.item;
  switch (ghost.kind) {
    case "recall":
      return [
        ...(item.interval_seconds ? [{ name: "skip", act: () => skipRecall(chat) }] : []),
        { name: "cancel", act: () => cancelRecall(chat, item) },
      ];
    case "automation":
      if (item.protected) return [];
      return [
        { name: "skip", act: () => skipJob(chat, item) },
        { name: "pause", act: () => pauseJob(chat, item) },
      ];
    default:
      return [{ name: "cancel", act: () => cancelMessage(chat, item) }];
  }
}

export function skipRecall(chat) {
  return perform(chat, () => post(`${chat.path}/recall/skip`), t("skipped"));
}

export function cancelRecall(chat, recall) {
  const restore = () =>
    post(`${chat.path}/recall`, {
      call_type: recall.interval_seconds ? "recurring" : "once",
      when: recall.trigger_at,
      interval_seconds: recall.interval_seconds || undefined,
      internal_comment: recall.internal_comment || undefined,
      additional_context_message: recall.additional_context_message,
    });
  return perform(chat, () => remove(`${chat.path}/recall`), t("recall_cancelled"), restore);
}

export function skipJob(chat, job) {
  return perform(chat, () => post(`${pathOf(job)}/skip`), t("skipped_next", { name: job.name }));
}

export function resumeJob(chat, job) {
  return perform(chat, () => post(`${pathOf(job)}/resume`), t("resumed", { name: job.name }));
}

export function pauseJob(chat, job) {
  const resume = () => post(`${pathOf(job)}/resume`);
  return perform(chat, () => post(`${pathOf(job)}/pause`), t("paused_now", { name: job.name }), resume);
}

/** Pauses the job at once, so that it cannot fire. Removes it with its history unless the user undoes it. */
export async function removeJob(chat, job) {
  if (job.enabled && !(await perform(chat, () => post(`${pathOf(job)}/pause`)))) return;
  chat.removing.add(job.id);
  const finish = (act) => {
    removeEventListener("pagehide", removeNow);
    clearTimeout(timer);
    return perform(chat, act).finally(() => chat.removing.delete(job.id));
  };
  const removeNow = () => finish(() => remove(pathOf(job)));
  const restore = () => finish(() => job.enabled && post(`${pathOf(job)}/resume`));
  const timer = setTimeout(removeNow, UNDO_MS);
  addEventListener("pagehide", removeNow);
  chat.refreshFuture(0);
  toast(t("removed", { name: job.name }), { undo: restore, ms: UNDO_MS });
}

export function cancelMessage(chat, message) {
  const restore = () =>
    post(`${chat.path}/scheduled-messages`, {
      send_at: message.send_at,
      message_text: message.message_text,
    });
  const cancel = () => remove(`scheduled-messages/${inPath(message.task_id)}`);
  return perform(chat, cancel, t("message_cancelled"), restore);
}

/**
 * Runs `act`, shows `confirmation` or the server's refusal, and reloads what is coming.
 * Returns the response, `true` if it is empty, or `null` if the server refused.
 */
export async function perform(chat, act, confirmation = "", undo = null) {
  try {
    const response = await act();
    const options = undo ? { undo: () => perform(chat, undo), ms: UNDO_MS } : {};
    if (confirmation) toast(confirmation, options);
    chat.refreshFuture(0);
    return response ?? true;
  } catch (problem) {
    refused(problem);
    chat.refreshFuture(0);
    return null;
  }
}
