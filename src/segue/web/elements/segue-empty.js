// A conversation that has not begun: three things to try.

import { h, Part } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { t } from "../lib/words.js";

class Empty extends Part {
  build() {
    const tries = ["try_reminder", "try_daily", "try_recall"].map((name) =>
      h("button.try", { onclick: () => this.tell("segue-try", t(name)) }, icon("clock"), h("span", h("strong", t(`${name}_title`)), h("span", t(name)))));
    this.append(h("h2", t("empty_title")), h("p", t("empty_text")), h("div.tries", tries));
    this.hidden = true;
  }
}

customElements.define("segue-empty", Empty);
