// The page begins here: who is it, which words, and then the house.

import { get } from "./lib/api.js";
import { h } from "./lib/dom.js";
import { chooseLanguage } from "./lib/words.js";
import "./elements/segue-app.js";
import "./elements/segue-login.js";

let shown = null;

function show(name) {
  if (shown?.localName === name) return;
  const next = h(name);
  if (shown) shown.replaceWith(next);
  else document.body.append(next);
  shown = next;
}

addEventListener("segue-unauthorized", () => show("segue-login"));
addEventListener("segue-authorized", () => location.reload());

await chooseLanguage();
// Whoever was here before is let in at once; a server that has forgotten them says so soon enough.
if (localStorage.getItem("segue.last")) show("segue-app");
try {
  await get("auth/session");
  show("segue-app");
} catch (problem) {
  // Away, not refused: the house shows what it can and tries again by itself.
  if (problem.status !== 401) show("segue-app");
}
