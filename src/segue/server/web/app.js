// The page begins here: which words, who is it, and then the house.

import { h } from "./lib/dom.js";
import { FIRST } from "./lib/sessions.js";
import { chooseLanguage } from "./lib/words.js";
import "./elements/segue-app.js";

let shown = null;

function show(name) {
  if (shown?.localName === name) return;
  if (name === "segue-login") import("./later.js");
  const next = h(name);
  if (shown) shown.replaceWith(next);
  else document.body.append(next);
  shown = next;
}

addEventListener("segue-unauthorized", () => show("segue-login"));

await chooseLanguage();
// Whoever was here before is let in at once; a server that has forgotten them says so soon enough.
const first = localStorage.getItem("segue.last") ? null : await early.get(FIRST).catch(() => null);
show(first?.status === 401 ? "segue-login" : "segue-app");
