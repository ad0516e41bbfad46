// One automation: its schedule, its recent runs and its actions.

import { pauseJob, removeJob, resumeJob, skipJob } from "../lib/actions.js";
import { get, inPath } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { actionButton } from "../lib/row.js";
import { inWords } from "../lib/schedules.js";
import { formatFull, formatUpcoming, zone } from "../lib/times.js";
import "./segue-edit.js";
import "./segue-run.js";
import "./segue-strip.js";

const RUNS_SHOWN = 20;

class Automation extends Part {
  show(job, chat) {
    this.job = job;
    this.chat = chat;
    if (!this.differs(job)) return;
    if (!this.head) this.#create();
    const [status, words] = statusOf(job);
    this.head.replaceChildren(h("h3", job.name), h(`span.status.${status}`, words));
    this.when.replaceChildren(...this.#when(job));
    this.verbs.replaceChildren(...this.#buttons(job));
    this.#loadRuns().catch(() => {});
  }

  /** Opens a run, or the newest one, with its explanation. */
  async explain(runId = null) {
    await this.#loadRuns();
    const run = this.runs.find((each) => each.run_id === runId) ?? this.runs[0] ?? null;
    this.detail.show(run, this.job, true);
  }

  #create() {
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
    const jobZone = job.schedule.tz;
    const lines = [
      h(
        "p",
        { title: job.schedule.expr ?? null },
        inWords(job.schedule),
        jobZone && jobZone !== zone && h("span.zone", ` ${jobZone}`),
      ),
    ];
    if (job.enabled && job.next_runs.length) {
      const [next, ...more] = job.next_runs.map((at) => new Date(at));
      const then = more.map((at) => ` · ${formatUpcoming(at)}`).join("");
      lines.push(
        h(
          "p.next",
          { title: formatFull(next) },
          t("next_run", { time: formatUpcoming(next) }),
          more.length > 0 && h("span.then", then),
        ),
      );
    }
    return lines;
  }

  #buttons(job) {
    if (job.protected) return [h("span.none", t("system_job"))];
    const button = (name, act) => actionButton(name, job.name, act);
    const change = job.enabled
      ? [button("pause", () => pauseJob(this.chat, job)), button("skip_next", () => skipJob(this.chat, job))]
      : [button("resume", () => resumeJob(this.chat, job))];
    return [
      ...change,
      button("edit", () => this.form.show(job, this.chat)),
      button("why", () => this.explain()),
      button("remove", () => removeJob(this.chat, job)),
    ];
  }

  async #loadRuns() {
    const { runs } = await get(`automations/${inPath(this.job.id)}/runs?limit=${RUNS_SHOWN}`);
    this.runs = runs;
    this.strip.show(runs);
  }
}

function statusOf(job) {
  if (job.state.pending) return ["running", t("running")];
  if (!job.enabled) return ["paused", t("paused")];
  const failures = job.state.consecutive_failures;
  if (failures) return ["error", t("failed_times", { count: failures })];
  return ["active", t("active")];
}

customElements.define("segue-automation", Automation);
