// A row of the conversation: name and time on the left, a node on the thread, and the content.

import { h, icon, t } from "./dom.js";
import { formatClock, formatFull } from "./times.js";

/** `node` is a shape on the thread: `dot`, `clock`, `ring`, or null. */
export function row(kind, { who = null, at = null, node = null, body }) {
  const shape = node && h(`span.node.${node}`, node === "clock" ? icon("clock") : null);
  return h(
    `div.row.${kind}`,
    h("div.who", who && h("span.name", who), at && timeElement(at)),
    h("div.thread", { "aria-hidden": "true" }, shape),
    h("div.body", body),
  );
}

/** Whether a message has no words of its own: the server then puts the names of its files there. */
export const isOnlyFiles = ({ content, parts }) => content === parts.map(({ name }) => `[${name}]`).join(", ");

function timeElement(at) {
  const when = new Date(at);
  return h("time", { datetime: when.toISOString(), title: formatFull(when) }, formatClock(when));
}

const ICONS = {
  skip: "skip",
  skip_next: "skip",
  cancel: "close",
  pause: "pause",
  resume: "resume",
  edit: "edit",
  why: "why",
  undo: "undo",
  remove: "trash",
  forget: "trash",
};
const DANGER = new Set(["remove", "forget"]);

/** `name` is a key of the catalogue; screen readers also hear what the action is about. */
export const actionButton = (name, about, act) =>
  h(
    "button.quiet",
    { class: DANGER.has(name) ? "danger" : null, onclick: act, "aria-label": `${t(name)}: ${about}` },
    icon(ICONS[name]),
    t(name),
  );

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers offer the clipboard API only over TLS and on localhost.
  const field = h("textarea.offscreen", text);
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** Copies the text; the button says so for a moment. */
export async function copyFrom(button, text) {
  await copy(text);
  button.replaceChildren(icon("check"), t("copied"));
  setTimeout(() => button.replaceChildren(icon("copy")), 1500);
}

export function copyButton(label, text) {
  const button = h("button.quiet.copy", { named: label }, icon("copy"));
  button.addEventListener("click", () => copyFrom(button, text()));
  return button;
}
