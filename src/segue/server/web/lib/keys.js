// Keyboard shortcuts outside of input fields: j and k select a conversation, n starts a new one, / writes, f searches,
// ? helps.

import { currentKey, go } from "./route.js";
import { sessions } from "./sessions.js";

const isInput = (target) => target.closest?.("input, textarea, select, [contenteditable]");

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
  if (isInput(event.target)) return;
  const shortcuts = {
    j: () => step(1),
    k: () => step(-1),
    n: () => app.dispatchEvent(new Event("segue-new")),
    "/": () => app.talk.write(),
    f: () => app.emit("segue-search", ""),
    "?": () => app.emit("segue-settings", "keyboard"),
  };
  const act = shortcuts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function step(by) {
  const links = [...document.querySelectorAll("segue-sidebar a[data-key]")];
  const listed = links.map((link) => link.dataset.key);
  const index = listed.indexOf(currentKey());
  const next = index < 0 ? listed[0] : listed[Math.min(listed.length - 1, Math.max(0, index + by))];
  if (next && sessions.get(next)) go(next);
}
