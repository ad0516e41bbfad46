// The panel of a conversation: what comes, its automations, scheduled messages, what it used, and memory.

import { h, icon, Part, t } from "../lib/dom.js";
import { outlook } from "../lib/outlook.js";
import "./segue-automations.js";
import "./segue-memory.js";
import "./segue-messages.js";
import "./segue-timeline.js";
import "./segue-used.js";

/** While the server cannot be reached: the panel shows what it has. */
const NOTHING_FOUND = {
  forecast: { total: { slots: 0 }, jobs: [], days: [] },
  budget: { jobs: [] },
  usage: { total: { input_tokens: 0, output_tokens: 0 }, jobs: [], days: [] },
};

class Panel extends Part {
  build() {
    this.automations = h("segue-automations");
    this.timeline = h("segue-timeline");
    this.messages = h("segue-messages");
    this.used = h("segue-used");
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
        this.used,
        this.memory,
      )),
    );
  }

  set chat(chat) {
    this.shown = chat;
    this.found = null;
    this.state = "";
    for (const type of ["opened", "session", "future"]) {
      chat.addEventListener(type, () => chat === this.shown && this.#draw());
    }
    this.#draw();
  }

  /** A closed panel loads and draws nothing. */
  set opened(opened) {
    this.inert = !opened;
    if (opened && this.shown) this.#draw();
  }

  /** Opens a run of a job with its explanation. */
  explain(detail) {
    this.automations.explain(detail);
  }

  edit(jobId) {
    this.automations.edit(jobId);
  }

  #draw() {
    const { shown: chat } = this;
    if (this.inert) return;
    // The parts appear together: one that came later would move the others.
    const loading = chat.jobs === null || !this.found;
    this.aside.classList.toggle("settling", chat.state === "open" && loading);
    this.timeline.show(chat, this.found);
    this.automations.show(chat, this.found);
    this.messages.show(chat);
    this.used.show(this.found);
    this.memory.show(chat);
    if (chat.state === "open" && chat.jobs) this.#lookAhead(chat);
  }

  /** Loads what comes and costs, and what was used, when one of them may have changed. */
  async #lookAhead(chat) {
    const { jobs, recall, messages, session } = chat;
    const changing = jobs.map(({ id, updated_at: at, enabled, state }) => [id, at, enabled, state]);
    const state = JSON.stringify([changing, recall, messages, session?.last_activity_at]);
    if (state === this.state) return;
    this.state = state;
    const found = await outlook(chat.key).catch(() => this.found ?? NOTHING_FOUND);
    if (chat !== this.shown || state !== this.state) return;
    this.found = found;
    this.#draw();
  }
}

customElements.define("segue-panel", Panel);
