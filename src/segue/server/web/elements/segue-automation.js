// One automation: when, how it went, and what can be done about it.

import { pauseJob, removeJob, resumeJob, skipJob } from "../lib/acts.js";
import { get, inPath } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { verb } from "../lib/row.js";
import { inWords } from "../lib/schedules.js";
import { coming, whole, zone } from "../lib/times.js";
import "./segue-edit.js";
import "./segue-run.js";
import "./segue-strip.js";

const STRIP = 20;

class Automation extends Part {
  show(job, chat) {
    this.job = job;
    this.chat = chat;
    if (!this.differs(job)) return;
    if (!this.head) this.#make();
    const [status, words] = statusOf(job);
    this.head.replaceChildren(h("h3", job.name), h(`span.status.${status}`, words));
    this.when.replaceChildren(...this.#when(job));
    this.verbs.replaceChildren(...this.#verbs(job));
    this.#runs().catch(() => {});
  }

  /** The run that is asked about, opened. */
  async explain(runId = null) {
    await this.#runs();
    const run = this.runs.find((each) => each.run_id === runId) ?? this.runs[0] ?? null;
    this.detail.show(run, this.job, true);
  }

  #make() {
    this.head = h("div.head");
    this.when = h("div.when");
    this.strip = h("segue-strip");
    this.detail = h("segue-run");
    this.verbs = h("div.verbs");
    this.form = h("segue-edit");
    this.runs = [];
    this.append(this.head, this.when, this.strip, this.verbs, this.form, this.detail);
    this.strip.addEventListener("segue-run", ({ detail }) => this.detail.show(detail, this.job));
  }

  #when(job) {
    const theirs = job.schedule.tz;
    const words = [h("p", { title: job.schedule.expr ?? null }, inWords(job.schedule), theirs && theirs !== zone && h("span.zone", ` ${theirs}`))];
    if (job.enabled && job.next_runs.length) {
      const [next, ...more] = job.next_runs.map((at) => new Date(at));
      words.push(h("p.next", { title: whole(next) }, t("next_run", { time: coming(next) }), more.length ? h("span.then", ` · ${more.map((at) => coming(at)).join(" · ")}`) : null));
    }
    return words;
  }

  #verbs(job) {
    if (job.protected) return [h("span.none", t("system_job"))];
    const acts = [
      ...(job.enabled ? [["pause", pauseJob], ["skip_next", skipJob]] : [["resume", resumeJob]]),
      ["edit", () => this.form.show(job, this.chat)],
      ["why", () => this.explain()],
      ["remove", removeJob],
    ];
    return acts.map(([name, act]) => verb(name, job.name, () => act(this.chat, job)));
  }

  async #runs() {
    const { runs } = await get(`automations/${inPath(this.job.id)}/runs?limit=${STRIP}`);
    this.runs = runs;
    this.strip.show(runs);
  }
}

function statusOf(job) {
  if (job.state.pending) return ["running", t("running")];
  if (!job.enabled) return ["paused", t("paused")];
  if (job.state.consecutive_failures) return ["error", t("failed_times", { count: job.state.consecutive_failures })];
  return ["active", t("active")];
}

customElements.define("segue-automation", Automation);
