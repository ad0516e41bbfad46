// A row of the conversation: who or when at the left, a place on the thread, and what is there.

import { h, icon, t } from "./dom.js";
import { clock, whole } from "./times.js";

/** `node` is a shape on the thread: `dot`, `clock`, `ring`, or nothing. */
export function row(kind, { who = null, at = null, node = null, body }) {
  return h(`div.row.${kind}`,
    h("div.who", who && h("span.name", who), at && moment(at)),
    h("div.thread", { "aria-hidden": "true" }, node && h(`span.node.${node}`, node === "clock" ? icon("clock") : null)),
    h("div.body", body),
  );
}

export function moment(at) {
  const when = new Date(at);
  return h("time", { datetime: when.toISOString(), title: whole(when) }, clock(when));
}

/** `name` is one of the catalogue; `of` is said to those who only hear. */
export const verb = (name, of, act) => h("button.quiet", { onclick: act, "aria-label": `${t(name)}: ${of}` }, t(name));

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Only a page from this machine or over TLS has the clipboard itself.
  const field = h("textarea.offscreen", text);
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function copyButton(label, text, words) {
  const button = h("button.quiet.copy", { named: label }, icon("copy"));
  button.addEventListener("click", async () => {
    await copy(text());
    button.replaceChildren(icon("check"), words);
    setTimeout(() => button.replaceChildren(icon("copy")), 1500);
  });
  return button;
}
