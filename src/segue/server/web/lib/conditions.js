// Conditions of an automation in words: only if you have not answered since its last report. Pure.

import { formatDistance } from "./times.js";
import { listed } from "./tools.js";
import { t } from "./words.js";

/** What can be chosen; a test with a `since` has one entry for each. Others are kept as they are. */
export const KINDS = [
  "unanswered_last_run",
  "unanswered_created",
  "answered_last_run",
  "answered_created",
  "not_done",
  "quiet",
  "active",
  "unsaid_last_run",
  "unsaid_created",
  "said_last_run",
  "said_created",
  "outcome",
];

/** The entry of `KINDS` for a condition; null for one that this page does not know. */
export function kindOf(condition) {
  const since = /^(un)?(answered|said)$/.test(condition.if) ? `_${condition.since ?? "last_run"}` : "";
  const kind = condition.if + since;
  return KINDS.includes(kind) ? kind : null;
}

/** `you have not written for 2 h`; `jobs` are those of the chat. */
export function conditionWords(condition, jobs = []) {
  const kind = kindOf(condition);
  if (!kind) return t("if_unknown");
  const seconds = condition.for_seconds ?? condition.within_seconds;
  const job = jobs.find(({ id }) => id === condition.job);
  return t(kind === "outcome" && !seconds ? "if_outcome_ever" : `if_${kind}`, {
    time: seconds ? formatDistance(seconds * 1000) : "",
    words: listed((condition.words ?? []).map((words) => t("quoted", { words })), "disjunction"),
    job: job?.name ?? t("removed_job"),
    outcome: condition.is ? t(`outcome_${condition.is}`) : "",
  });
}

/** The whole sentence for the panel; empty without conditions. */
export function conditionSentence({ when, otherwise }, jobs) {
  if (!when?.length) return "";
  const words = t("only_if", { conditions: listed(when.map((each) => conditionWords(each, jobs))) });
  return otherwise && otherwise !== "skip" ? `${words}; ${t(`otherwise_${otherwise}_then`)}` : words;
}
