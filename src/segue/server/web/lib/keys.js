// The keyboard, where no field has it: j and k through the conversations, n for a new one, / to write.

import { go, here } from "./here.js";
import { sessions } from "./sessions.js";

const writes = (target) => target.closest?.("input, textarea, select, [contenteditable]");

export function keys(app, signal) {
  document.addEventListener("keydown", (event) => press(app, event), { signal });
}

function press(app, event) {
  if (event.isComposing) return;
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    app.dispatchEvent(new Event("segue-find"));
    return;
  }
  if (document.querySelector("dialog[open]") || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape" && !event.defaultPrevented) return app.escape();
  if (writes(event.target)) return;
  const act = { j: () => step(1), k: () => step(-1), n: () => app.dispatchEvent(new Event("segue-new")), "/": () => app.talk.write() }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function step(by) {
  const listed = [...document.querySelectorAll("segue-sidebar a[data-key]")].map((link) => link.dataset.key);
  const at = listed.indexOf(here());
  const next = at < 0 ? listed[0] : listed[Math.min(listed.length - 1, Math.max(0, at + by))];
  if (next && sessions.get(next)) go(next);
}
