// A card that offers notifications, once something is scheduled in the conversation. It never asks by itself.

import { h, Part, t } from "../lib/dom.js";
import { notifications } from "../lib/notifications.js";
import { toast } from "../lib/toast.js";

/** Set when the user has answered. */
const ANSWERED = "segue.notify";

class Notify extends Part {
  #coming = false;

  build() {
    this.card = h(
      "div.connect",
      h("p", h("strong", t("notify_title")), " ", t("notify_text")),
      h(
        "div.verbs",
        h("button.primary", { onclick: () => this.#enable() }, t("notify_on")),
        h("button.quiet", { onclick: () => this.#answer() }, t("not_now")),
      ),
    );
  }

  enter() {
    this.on(notifications, "change", () => this.#draw());
    this.#draw();
  }

  /** Whether something is scheduled in the open conversation. */
  set coming(coming) {
    this.#coming = coming;
    this.#draw();
  }

  #draw() {
    const wanted = this.#coming && notifications.state === "off" && !localStorage.getItem(ANSWERED);
    if (this.built) this.replaceChildren(...(wanted ? [this.card] : []));
  }

  async #enable() {
    this.#answer();
    try {
      await notifications.enable();
      if (notifications.state === "on") toast(t("notifications_on"));
    } catch (problem) {
      toast(problem.status === undefined ? t("notifications_failed") : problem.message, { bad: true });
    }
  }

  #answer() {
    localStorage.setItem(ANSWERED, "yes");
    this.#draw();
  }
}

customElements.define("segue-notify", Notify);
