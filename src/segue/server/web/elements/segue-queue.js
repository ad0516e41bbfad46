// What waits: messages not accepted yet, messages waiting for the running turn, and scheduled turns.

import { h, Part, t } from "../lib/dom.js";
import { live } from "../lib/connection.js";
import { row } from "../lib/row.js";

class Queue extends Part {
  show(chat) {
    const unsent = live.outbox(chat.key);
    const waiting = chat.fold.waiting.filter(
      (each) => (chat.fold.turn(each.turn_id)?.state ?? "queued") === "queued",
    );
    const scheduled = waiting.filter((each) => each.label);
    const words = waiting.filter((each) => !each.label);
    this.replaceChildren(
      ...words.map((each) => this.#row(each.content, chat.running ? t("waits") : "")),
      ...unsent.map((each) => this.#row(this.#words(each, chat), live.state === "open" ? "" : t("not_sent_yet"))),
    );
    if (scheduled.length && chat.running) {
      this.append(h("p.notice", { role: "status" }, t("scheduled_waits", { count: scheduled.length })));
    }
  }

  #words({ content, parts = [], replaces }, chat) {
    const names = parts.map(({ name }) => name).join(", ");
    return content || names || chat.fold.turn(replaces)?.asked?.content || "";
  }

  #row(content, state) {
    return row("user", {
      who: t("you"),
      node: "dot",
      body: [h("div.words", content), state && h("p.closure", state)],
    });
  }
}

customElements.define("segue-queue", Queue);
