// The scheduled messages of this conversation.

import { cancelMessage } from "../lib/actions.js";
import { h, Part, setText, t } from "../lib/dom.js";
import { actionButton } from "../lib/row.js";
import { everySecond, formatFull, formatUpcoming } from "../lib/times.js";

class Messages extends Part {
  build() {
    this.list = h("ul");
    this.append(h("section", { "aria-label": t("messages") }, h("h2", t("messages")), this.list));
    this.hidden = true;
  }

  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  show(chat) {
    const pending = chat.messages ?? [];
    this.hidden = !pending.length;
    this.list.replaceChildren(...pending.map((message) => this.#message(message, chat)));
    this.#tick();
  }

  #tick() {
    for (const time of this.list.querySelectorAll("time")) {
      setText(time, formatUpcoming(new Date(time.dateTime)));
    }
  }

  #message(message, chat) {
    const at = new Date(message.send_at);
    const cancel = actionButton("cancel", message.message_text, () => cancelMessage(chat, message));
    return h(
      "li",
      h("time", { datetime: message.send_at, title: formatFull(at) }),
      h("q", message.message_text),
      cancel,
    );
  }
}

customElements.define("segue-messages", Messages);
