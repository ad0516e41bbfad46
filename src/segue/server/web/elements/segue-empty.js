// Shown in a conversation that has not begun: three examples to try, and how to connect a model.

import { account } from "../lib/account.js";
import { h, icon, Part, t } from "../lib/dom.js";

/** Set when an admin is content with the offline rules. */
const DISMISSED = "segue.offline";

class Empty extends Part {
  build() {
    const tries = ["try_reminder", "try_daily", "try_recall"].map((name) =>
      h(
        "button.try",
        { onclick: () => this.emit("segue-try", t(name)) },
        icon("clock"),
        h("span", h("strong", t(`${name}_title`)), h("span", t(name))),
      ),
    );
    this.connect = h(
      "aside.connect",
      { hidden: true, "aria-label": t("connect_title") },
      h("p", h("strong", t("connect_title")), " ", t("connect_text")),
      h(
        "div.verbs",
        h("button.primary", { onclick: () => this.emit("segue-settings", "model") }, t("connect_model")),
        h("button.quiet", { onclick: () => this.#dismiss() }, t("not_now")),
      ),
    );
    this.append(h("h2", t("empty_title")), h("p", t("empty_text")), h("div.tries", tries), this.connect);
  }

  enter() {
    this.on(account, "change", () => this.#showConnect());
    this.#showConnect();
  }

  #showConnect() {
    const offline = account.isAdmin && account.model === "offline";
    this.connect.hidden = !offline || localStorage.getItem(DISMISSED) !== null;
  }

  #dismiss() {
    localStorage.setItem(DISMISSED, "yes");
    this.#showConnect();
  }
}

customElements.define("segue-empty", Empty);
