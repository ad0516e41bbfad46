// An answer that waits for the end of quiet hours or for a digest: when it is sent, and a button to send it now.

import { perform } from "../lib/actions.js";
import { post } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { everySecond, formatFull, formatUpcoming, now } from "../lib/times.js";

class Held extends Part {
  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  set subject({ chat, until }) {
    this.until = until && new Date(until);
    this.#tick();
    if (this.hidden || !this.differs(until)) return;
    const send = () => perform(chat, () => post(`${chat.path}/held/send`), t("held_sent")).then(() => chat.loadHeld());
    const words = t("held_until", { time: formatUpcoming(this.until) });
    this.replaceChildren(
      icon("moon"),
      h("span", { title: formatFull(this.until) }, words),
      h("button.quiet", { onclick: send }, t("send_now")),
    );
  }

  /** After its time it is on its way. */
  #tick() {
    this.hidden = !this.until || this.until <= now();
  }
}

customElements.define("segue-held", Held);
