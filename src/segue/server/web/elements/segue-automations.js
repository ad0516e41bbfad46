// The automations of this conversation. There is deliberately no list of all automations.

import { arrange, h, Part, t } from "../lib/dom.js";
import "./segue-automation.js";

class Automations extends Part {
  #jobs = new Map();

  build() {
    this.list = h("div.jobs");
    this.none = h("p.none", t("no_automations"));
    this.append(
      h("section", { "aria-label": t("automations") }, h("h2", t("automations")), this.none, this.list),
    );
    this.hidden = true;
  }

  show(chat) {
    if (chat !== this.chat) this.#jobs.clear();
    this.chat = chat;
    const jobs = chat.jobs;
    this.hidden = jobs === null;
    this.none.hidden = Boolean(jobs?.length);
    arrange(
      this.list,
      (jobs ?? []).map((job) => this.#job(job, chat)),
    );
  }

  async explain({ job, run }) {
    const element = this.#jobs.get(job);
    element?.scrollIntoView({ block: "nearest" });
    await element?.explain(run);
  }

  #job(job, chat) {
    let element = this.#jobs.get(job.id);
    if (!element) {
      element = h("segue-automation");
      this.#jobs.set(job.id, element);
    }
    element.show(job, chat);
    return element;
  }
}

customElements.define("segue-automations", Automations);
