// The earlier versions of a turn that was edited or tried again, unfolded on request.

import { h, Part, t } from "../lib/dom.js";
import { loadUntil } from "../lib/reveal.js";
import { refused } from "../lib/toast.js";

class Versions extends Part {
  build() {
    this.list = h("div.versions", { role: "list" });
    this.details = h("details", h("summary", t("show_earlier_version")), this.list);
    this.details.addEventListener("toggle", () => this.details.open && this.#show());
    this.append(this.details);
  }

  open() {
    this.details.open = true;
  }

  async #show() {
    const { chat, turn } = this.subject;
    try {
      if (!chat.fold.turn(turn.replaces)) {
        await loadUntil(chat, () => chat.fold.turn(turn.replaces));
        this.closest("segue-talk").reveal(turn, "nearest");
      }
    } catch (problem) {
      return refused(problem);
    }
    const shown = chat.fold.versions(turn).map((version) => {
      const element = Object.assign(h("segue-turn"), { chat });
      element.show(version);
      return element;
    });
    this.list.replaceChildren(...shown);
  }
}

customElements.define("segue-versions", Versions);
