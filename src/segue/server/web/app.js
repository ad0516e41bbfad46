// Entry point: chooses the language, then shows the app, or the login if the server wants a key.

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
// A returning user sees the app at once; if their login has expired, the first request says so.
const first = localStorage.getItem("segue.last") ? null : await early.get(FIRST).catch(() => null);
show(first?.status === 401 ? "segue-login" : "segue-app");
