// Replies to a job: an arrow and three chips under its message.

import { h, icon, Part, t } from "../lib/dom.js";

/** Each chip sends its own word, which the server knows in every language of the page. */
const CHIPS = ["reply_snooze", "reply_skip", "reply_stop"];

class Reply extends Part {
  set subject({ chat, id, label }) {
    if (!this.differs(id, label)) return;
    const chips = CHIPS.map((word) => {
      const send = () => chat.send(t(word), { reply_to: id });
      return h("button.quiet.chip", { onclick: send, "aria-label": `${t(word)}: ${label}` }, t(word));
    });
    const reply = () => this.emit("segue-reply", { id, label });
    const arrow = h("button.quiet", { named: t("reply_to", { name: label }), onclick: reply }, icon("undo"));
    this.replaceChildren(arrow, ...chips);
  }
}

customElements.define("segue-reply", Reply);
