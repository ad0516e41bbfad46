// A message that belongs to no turn: a scheduled message, or one that a program stored.

import { h, Part, t } from "../lib/dom.js";
import { setHtml } from "../lib/prose.js";
import { isOnlyFiles, row } from "../lib/row.js";

class Note extends Part {
  show({ message, source, at }) {
    if (this.asked) return;
    this.setAttribute("role", "listitem");
    const words = h("div.prose", {
      class: message.role === "user" ? "words" : "text",
      hidden: isOnlyFiles(message),
    });
    setHtml(words, message.html);
    const { parts } = message;
    const job = source?.kind === "cron";
    const kindOf = h("span.kind", t(job ? "automation" : "scheduled_message"));
    const label = source && h("div.label", kindOf, job && h("span.of", source.label));
    const who = { user: t("you"), assistant: t("segue") }[message.role] ?? message.role;
    const kind = source ? "trigger" : message.role === "user" ? "user" : "answer";
    this.asked = row(kind, {
      who: source ? null : who,
      at,
      node: source ? "clock" : "dot",
      body: [label, words, parts.length ? Object.assign(h("segue-parts"), { parts }) : null],
    });
    this.append(this.asked);
  }

  get head() {
    return this.asked;
  }
}

customElements.define("segue-note", Note);
