// A conversation that has not begun: three things to try.

import { h, Part } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { t } from "../lib/words.js";

class Empty extends Part {
  build() {
    const tries = ["try_reminder", "try_daily", "try_recall"].map((name) =>
      h("button.try", { type: "button", onclick: () => this.#offer(t(name)) }, icon("clock"), h("span", {}, h("strong", {}, t(`${name}_title`)), h("span", {}, t(name)))));
    this.append(h("h2", {}, t("empty_title")), h("p", {}, t("empty_text")), h("div.tries", {}, tries));
    this.hidden = true;
  }

  #offer(text) {
    this.dispatchEvent(new CustomEvent("segue-try", { bubbles: true, detail: text }));
  }
}

customElements.define("segue-empty", Empty);
