// Entry point: shows the app, or the login if the server wants a key.

import { account } from "./lib/account.js";
import { h, nextTask } from "./lib/dom.js";
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

// An empty conversation says which model answers, so a first visit waits for that. A returning user sees the app at
// once; if their login has expired, the first request says so.
const known = account.load();
if (!localStorage.getItem("segue.last")) await known;
await nextTask();
if (!shown) show("segue-app");
