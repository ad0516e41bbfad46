// Which job is answered, above the message field.

import { h, icon, Part, t } from "../lib/dom.js";

class To extends Part {
  build() {
    this.hidden = true;
  }

  set message(message) {
    this.hidden = !message;
    const close = () => this.emit("segue-reply", null);
    const words = () => [
      h("span", t("replying_to", { name: message.label })),
      h("button.quiet", { named: t("reply_to_none"), onclick: close }, icon("close")),
    ];
    this.replaceChildren(...(message ? words() : []));
  }
}

customElements.define("segue-to", To);
