// The automations of this conversation. There is deliberately no list of all automations.

import { get, inPath } from "../lib/api.js";
import { arrange, h, Part, t } from "../lib/dom.js";
import "./segue-automation.js";
import "./segue-run.js";

class Automations extends Part {
  #jobs = new Map();

  build() {
    this.list = h("div.jobs");
    this.none = h("p.none", t("no_automations"));
    this.append(
      h(
        "section",
        { "aria-label": t("automations") },
        h("h2", t("automations")),
        this.none,
        this.list,
      ),
    );
    this.hidden = true;
  }

  /** `found`: what comes and costs, and what was used; null until it is loaded. */
  show(chat, found) {
    if (chat !== this.chat) {
      this.#jobs.clear();
      this.ended?.remove();
    }
    this.chat = chat;
    const jobs = chat.jobs;
    this.hidden = jobs === null && chat.state !== "new";
    this.none.hidden = Boolean(jobs?.length);
    arrange(
      this.list,
      (jobs ?? []).map((job) => this.#job(job, chat)),
    );
    for (const element of this.list.children) element.outlook(found);
  }

  async explain({ job, run }) {
    const element = this.#jobs.get(job);
    if (!element) return this.#explainEnded(job, run);
    element.scrollIntoView({ block: "nearest" });
    await element.explain(run);
  }

  /** A run of a job that has ended, and so is not in the list. */
  async #explainEnded(job, runId) {
    const run = await get(`runs/${inPath(runId)}`);
    const sentence = this.chat.fold.turn(run.turn_id)?.text ?? "";
    this.hidden = false;
    this.ended?.remove();
    this.ended = h("segue-run");
    this.list.after(this.ended);
    await this.ended.show(run, { id: job }, { explain: true, sentence });
  }

  edit(jobId) {
    const element = this.#jobs.get(jobId);
    element?.scrollIntoView({ block: "nearest" });
    element?.edit();
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
