// Tool calls in words: what the agent did, and on what. Pure.

import { language, t } from "./words.js";

const IDS = { cron: "action", manage_recall: "action" };
const NAMES = new Set([
  "tool_cron_add",
  "tool_cron_list",
  "tool_cron_update",
  "tool_cron_pause",
  "tool_cron_resume",
  "tool_cron_skip",
  "tool_cron_remove",
  "tool_schedule_recall",
  "tool_manage_recall_cancel",
  "tool_manage_recall_skip",
  "tool_manage_recall_list",
  "tool_schedule_private_message",
  "tool_list_scheduled_private_messages",
  "tool_cancel_scheduled_private_message",
  "tool_memory_search",
  "tool_read_file",
  "tool_list_files",
  "tool_fetch_url",
  "tool_set_timezone",
]);
/** The argument that says what a call is about, by the tool's name. */
const ABOUT = {
  cron: "message",
  schedule_recall: "internal_comment",
  schedule_private_message: "message_text",
  memory_search: "query",
  read_file: "path",
  list_files: "path",
  fetch_url: "url",
  set_timezone: "timezone",
};
const LONGEST = 60;

/** `{ label, about }`: what was done, and on what. A tool that is not known is called by its name. */
export function inWords({ name, args }) {
  const key = `tool_${name}${IDS[name] ? `_${args?.[IDS[name]]}` : ""}`;
  const label = NAMES.has(key) ? t(key) : t("tool_other", { name: spoken(name) });
  return { label, about: shortened(args?.[ABOUT[name]]) };
}

const spoken = (name) => name.replaceAll(/[_-]+/g, " ").trim();

function shortened(value) {
  const words = typeof value === "string" ? value.replace(/\s+/g, " ").trim() : "";
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}

/** What a tool schedules, and where its result names the id. */
const SCHEDULES = {
  cron: ["job", /\bJob ([\w-]+) \(/],
  schedule_recall: ["recall", /\bRecall ([\w-]+) \(/],
  schedule_private_message: ["message", /"task_id": ?"([\w-]+)"/],
};

/** `{ kind, id }` of the job, recall or message that a successful call has made or changed; else null. */
export function scheduledBy({ name, args, result, error, finished }) {
  if (!SCHEDULES[name] || !finished || error !== null) return null;
  if (name === "cron" && !/^(add|update)$/.test(args?.action)) return null;
  const [kind, naming] = SCHEDULES[name];
  const id = naming.exec(result ?? "")?.[1];
  return id ? { kind, id } : null;
}

/** Words joined as the language does: `a, b and c`, or with the type `disjunction` `a, b or c`. */
export const listed = (words, type = "conjunction") => new Intl.ListFormat(language, { type }).format(words);
