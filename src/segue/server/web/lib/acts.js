// What can be done about what is to come. What takes something away can be taken back for ten seconds.

import { inPath, post, remove } from "./api.js";
import { refused, toast } from "./toast.js";
import { t } from "./words.js";

const UNDO_MS = 10_000;
const at = (job) => `automations/${inPath(job.id)}`;

/** The verbs of a ghost, each with a name of the catalogue. */
export function acts(ghost, chat) {
  const of = ghost.of;
  switch (ghost.kind) {
    case "recall":
      return [
        ...(of.interval_seconds ? [{ name: "skip", act: () => skipRecall(chat) }] : []),
        { name: "cancel", act: () => cancelRecall(chat, of) },
      ];
    case "automation":
      return of.protected ? [] : [
        { name: "skip", act: () => skipJob(chat, of) },
        { name: "pause", act: () => pauseJob(chat, of) },
      ];
    default:
      return [{ name: "cancel", act: () => cancelMessage(chat, of) }];
  }
}

export const skipRecall = (chat) =>
  doing(chat, () => post(`${chat.path}/recall/skip`), t("skipped"));

export const cancelRecall = (chat, recall) =>
  doing(chat, () => remove(`${chat.path}/recall`), t("recall_cancelled"), () =>
    post(`${chat.path}/recall`, {
      call_type: recall.interval_seconds ? "recurring" : "once",
      when: recall.trigger_at,
      interval_seconds: recall.interval_seconds || undefined,
      internal_comment: recall.internal_comment || undefined,
      additional_context_message: recall.additional_context_message,
    }));

export const skipJob = (chat, job) => doing(chat, () => post(`${at(job)}/skip`), t("skipped_next", { name: job.name }));

export const resumeJob = (chat, job) => doing(chat, () => post(`${at(job)}/resume`), t("resumed", { name: job.name }));

export const pauseJob = (chat, job) =>
  doing(chat, () => post(`${at(job)}/pause`), t("paused_now", { name: job.name }), () =>
    post(`${at(job)}/resume`));

/** Paused at once, so that it cannot fire; removed, with its history, when nobody has taken it back. */
export async function removeJob(chat, job) {
  if (job.enabled && !(await doing(chat, () => post(`${at(job)}/pause`)))) return;
  chat.leaving.add(job.id);
  const settle = (act) => {
    removeEventListener("pagehide", gone);
    clearTimeout(waiting);
    return doing(chat, act).finally(() => chat.leaving.delete(job.id));
  };
  const gone = () => settle(() => remove(at(job)));
  const back = () => settle(() => job.enabled && post(`${at(job)}/resume`));
  const waiting = setTimeout(gone, UNDO_MS);
  addEventListener("pagehide", gone);
  chat.lookAhead(0);
  toast(t("removed", { name: job.name }), { undo: back, ms: UNDO_MS });
}

export const cancelMessage = (chat, message) =>
  doing(chat, () => remove(`scheduled-messages/${inPath(message.task_id)}`), t("message_cancelled"), () =>
    post(`${chat.path}/scheduled-messages`, { send_at: message.send_at, message_text: message.message_text }));

/** Do it, say so, and look again at what is to come. A refusal is said too. */
export async function doing(chat, act, said = "", undo = null) {
  try {
    const answer = await act();
    if (said) toast(said, undo ? { undo: () => doing(chat, undo), ms: UNDO_MS } : {});
    chat.lookAhead(0);
    return answer ?? true;
  } catch (problem) {
    refused(problem);
    chat.lookAhead(0);
    return null;
  }
}
