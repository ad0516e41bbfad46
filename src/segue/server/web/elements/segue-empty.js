// Shown in a conversation that has not begun: three examples to try.

import { h, icon, Part, t } from "../lib/dom.js";

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
    this.append(h("h2", t("empty_title")), h("p", t("empty_text")), h("div.tries", tries));
  }
}

customElements.define("segue-empty", Empty);
