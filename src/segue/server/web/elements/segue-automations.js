// The automations of this conversation, and of no other: there is no calendar of everything.

import { arrange, h, Part, t } from "../lib/dom.js";
import "./segue-automation.js";

class Automations extends Part {
  #jobs = new Map();

  build() {
    this.list = h("div.jobs");
    this.none = h("p.none", t("no_automations"));
    this.append(h("section", { "aria-label": t("automations") }, h("h2", t("automations")), this.none, this.list));
    this.hidden = true;
  }

  show(chat) {
    if (chat !== this.chat) this.#jobs.clear();
    this.chat = chat;
    const jobs = chat.jobs;
    this.hidden = jobs === null;
    this.none.hidden = Boolean(jobs?.length);
    arrange(this.list, (jobs ?? []).map((job) => this.#job(job, chat)));
  }

  async explain({ job, run }) {
    const shown = this.#jobs.get(job);
    shown?.scrollIntoView({ block: "nearest" });
    await shown?.explain(run);
  }

  #job(job, chat) {
    let shown = this.#jobs.get(job.id);
    if (!shown) this.#jobs.set(job.id, (shown = h("segue-automation")));
    shown.show(job, chat);
    return shown;
  }
}

customElements.define("segue-automations", Automations);
