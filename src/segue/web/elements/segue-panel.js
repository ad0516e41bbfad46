// What belongs to the conversation: its automations, its written messages, what is remembered of it.

import { h, Part } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { t } from "../lib/words.js";
import "./segue-automations.js";
import "./segue-memory.js";
import "./segue-messages.js";

class Panel extends Part {
  build() {
    this.automations = h("segue-automations");
    this.messages = h("segue-messages");
    this.memory = h("segue-memory");
    this.append(
      h("aside", { "aria-label": t("panel") },
        h("button.icon-button.close", { named: t("close"), onclick: () => this.tell("segue-panel", false) }, icon("close")),
        this.automations, this.messages, this.memory,
      ),
    );
  }

  set chat(chat) {
    this.shown = chat;
    const hearing = { future: () => this.#draw(), opened: () => this.#draw(), session: () => this.memory.show(chat) };
    for (const [type, hear] of Object.entries(hearing)) {
      chat.addEventListener(type, () => chat === this.shown && hear());
    }
    this.#draw();
  }

  /** Open a job at one of its runs, and say why. */
  explain(detail) {
    this.automations.explain(detail);
  }

  #draw() {
    this.automations.show(this.shown);
    this.messages.show(this.shown);
    this.memory.show(this.shown);
  }
}

customElements.define("segue-panel", Panel);
