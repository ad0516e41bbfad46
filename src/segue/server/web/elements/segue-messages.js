// Messages that were written for later.

import { cancelMessage } from "../lib/acts.js";
import { h, Part, t } from "../lib/dom.js";
import { verb } from "../lib/row.js";
import { coming, whole } from "../lib/times.js";

class Messages extends Part {
  build() {
    this.list = h("ul");
    this.append(h("section", { "aria-label": t("messages") }, h("h2", t("messages")), this.list));
    this.hidden = true;
  }

  show(chat) {
    const pending = chat.messages ?? [];
    this.hidden = !pending.length;
    this.list.replaceChildren(...pending.map((message) => this.#message(message, chat)));
  }

  #message(message, chat) {
    const at = new Date(message.send_at);
    const cancel = verb("cancel", message.message_text, () => cancelMessage(chat, message));
    return h("li", h("time", { datetime: message.send_at, title: whole(at) }, coming(at)), h("q", message.message_text), cancel);
  }
}

customElements.define("segue-messages", Messages);
