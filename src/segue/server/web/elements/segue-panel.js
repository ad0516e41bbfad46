// The panel of a conversation: its automations, scheduled messages and memory.

import { h, icon, Part, t } from "../lib/dom.js";
import "./segue-automations.js";
import "./segue-memory.js";
import "./segue-messages.js";
import "./segue-timeline.js";

class Panel extends Part {
  build() {
    this.automations = h("segue-automations");
    this.timeline = h("segue-timeline");
    this.messages = h("segue-messages");
    this.memory = h("segue-memory");
    this.append(
      (this.aside = h(
        "aside",
        { "aria-label": t("panel") },
        h(
          "button.icon-button.close",
          { named: t("close"), onclick: () => this.emit("segue-panel", false) },
          icon("close"),
        ),
        this.timeline,
        this.automations,
        this.messages,
        this.memory,
      )),
    );
  }

  set chat(chat) {
    this.shown = chat;
    for (const type of ["opened", "session", "future"]) {
      chat.addEventListener(type, () => chat === this.shown && this.#draw());
    }
    this.#draw();
  }

  /** Opens a run of a job with its explanation. */
  explain(detail) {
    this.automations.explain(detail);
  }

  edit(jobId) {
    this.automations.edit(jobId);
  }

  #draw() {
    // The parts appear together: one that came later would move the others.
    this.aside.classList.toggle("settling", this.shown.state === "open" && this.shown.jobs === null);
    this.timeline.show(this.shown);
    this.automations.show(this.shown);
    this.messages.show(this.shown);
    this.memory.show(this.shown);
  }
}

customElements.define("segue-panel", Panel);
