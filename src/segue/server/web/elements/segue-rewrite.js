// A form to edit a message that was sent. The edited one takes its place, with the same files.

import { h, Part, t } from "../lib/dom.js";
import { isOnlyFiles } from "../lib/row.js";

class Rewrite extends Part {
  build() {
    this.field = h("textarea", { "aria-label": t("edit_message"), maxlength: "100000", rows: "2" });
    this.field.addEventListener("keydown", (event) => this.#press(event));
    const cancel = h("button.quiet", { onclick: () => this.#close() }, t("cancel"));
    const send = h("button.quiet", { type: "submit" }, t("send"));
    this.append(
      h("form", { onsubmit: (event) => this.#submit(event) }, this.field, h("div.verbs", send, cancel)),
    );
  }

  enter() {
    const { asked } = this.subject.turn;
    this.field.value = isOnlyFiles(asked) ? "" : asked.content;
    this.parentElement.classList.add("rewriting");
    this.field.focus();
    this.field.setSelectionRange(-1, -1);
  }

  #press(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) this.#submit(event);
    if (event.key !== "Escape") return;
    event.preventDefault();
    this.#close();
  }

  #submit(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    const { turn, chat } = this.subject;
    const { parts } = turn.asked;
    if (!text && !parts.length) return;
    if (text !== turn.asked.content) chat.send(text, { parts, replaces: turn.id });
    this.#close();
  }

  #close() {
    const body = this.parentElement;
    body.classList.remove("rewriting");
    this.remove();
    body.querySelector(".foot button")?.focus();
  }
}

customElements.define("segue-rewrite", Rewrite);
