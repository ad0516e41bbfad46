// One automation: its schedule, its recent runs and its actions.

import { pauseJob, removeJob, resumeJob, skipJob } from "../lib/actions.js";
import { get, inPath } from "../lib/api.js";
import { conditionSentence } from "../lib/conditions.js";
import { h, Part, setText, t } from "../lib/dom.js";
import { isRuledOut } from "../lib/future.js";
import { menu } from "../lib/menu.js";
import { daysOfJob, priceOf, usedByJob, usedWords } from "../lib/outlook.js";
import { actionButton } from "../lib/row.js";
import { calendarName, inWords } from "../lib/schedules.js";
import {
  everySecond,
  formatDates,
  formatDayShort,
  formatDuration,
  formatFull,
  formatUpcoming,
  zone,
} from "../lib/times.js";
import "./segue-edit.js";
import "./segue-month.js";
import "./segue-run.js";
import "./segue-strip.js";

const RUNS_SHOWN = 20;

const WARNING_MS = 30 * 86_400_000;

const endsSoon = (day) => Boolean(day) && Date.parse(day) - Date.now() < WARNING_MS;

/** A warning that the days of the job's calendar are known only until soon. */
function calendarEnd({ schedule, days_known_until: day }) {
  const ended = Date.parse(day) + 86_400_000 < Date.now();
  const date = formatDayShort(new Date(`${day}T12:00`));
  return t(ended ? "calendar_ended" : "calendar_ends", { calendar: calendarName(schedule.days), date });
}

class Automation extends Part {
  enter() {
    everySecond(() => this.tick(), this.lifetime.signal);
  }

  /** What changes by itself: the status, and the time that is left. */
  tick() {
    if (!this.job) return;
    const [status, words] = statusOf(this.job, this.chat);
    this.status.className = `status ${status}`;
    setText(this.status, words);
    if (this.next) setText(this.next, t("next_run", { time: formatUpcoming(this.next.at) }));
  }

  show(job, chat) {
    this.job = job;
    this.chat = chat;
    if (!this.differs(job)) return;
    if (!this.head) this.#create();
    this.head.replaceChildren(h("h3", job.name), this.status);
    this.when.replaceChildren(...this.#when(job));
    this.tick();
    this.verbs.replaceChildren(...this.#buttons(job));
    // What the runs will fill is there from the start.
    if (!this.runs.length) this.strip.hidden = !job.state.last_run_at;
    this.#loadRuns().catch(() => {});
  }

  /** Opens a run, or the newest one, with its explanation. */
  async explain(runId = null) {
    await this.#loadRuns();
    const run = this.runs.find((each) => each.run_id === runId) ?? this.runs[0] ?? null;
    this.#open(run, { explain: true });
  }

  /** What it did and used in the last days, what it will cost, and what is left of its budget. */
  outlook(found) {
    const words = found ? priceOf(found, this.job.id) : "";
    setText(this.price, words);
    this.price.hidden = !words;
    this.#showDays(found);
  }

  edit() {
    this.form.show(this.job, this.chat);
  }

  #create() {
    this.head = h("div.head");
    this.status = h("span");
    this.when = h("div.when");
    this.price = h("p.price", { hidden: true });
    this.days = h("segue-month", { hidden: true });
    this.strip = h("segue-strip");
    this.detail = h("segue-run");
    this.verbs = h("div.verbs");
    this.form = h("segue-edit");
    this.runs = [];
    this.append(this.head, this.when, this.price, this.days, this.strip, this.verbs, this.form, this.detail);
    this.strip.addEventListener("segue-run", ({ detail }) => this.#open(detail));
  }

  #open(run, options = {}) {
    const turn = run?.turn_id && this.chat.fold.turn(run.turn_id);
    const sentence = turn?.outcome === "error" ? turn.text : "";
    this.detail.show(run, this.job, { sentence, ...options });
  }

  #when(job) {
    const jobZone = job.schedule.tz;
    this.next = null;
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
      const then = formatDates(more, next).map((time) => ` · ${time}`).join("");
      this.next = Object.assign(h("span"), { at: next });
      lines.push(
        h("p.next", { title: formatFull(next) }, this.next, more.length > 0 && h("span.then", then)),
      );
    }
    if (job.enabled && endsSoon(job.days_known_until)) lines.push(h("p.ending", calendarEnd(job)));
    const condition = conditionSentence(job.policy, this.chat.jobs);
    if (condition) lines.push(h("p.condition", condition, isRuledOut(job) && h("span", t("ruled_out"))));
    if (job.policy.quiet) lines.push(h("p.condition", t("in_quiet_hours", { does: t(`quiet_${job.policy.quiet}`) })));
    if (job.policy.tell) lines.push(h("p.condition", t("told_in_digest")));
    if (job.model) lines.push(h("p.model", t(job.look ? "looks_then_runs_on" : "runs_on", job)));
    return lines;
  }

  #buttons(job) {
    if (job.protected) return [h("span.none", t("system_job"))];
    const button = (name, act) => actionButton(name, job.name, act);
    const change = job.enabled
      ? button("pause", () => pauseJob(this.chat, job))
      : button("resume", () => resumeJob(this.chat, job));
    const further = [
      job.enabled && button("skip_next", () => skipJob(this.chat, job)),
      button("why", () => this.explain()),
      button("remove", () => removeJob(this.chat, job)),
    ].filter(Boolean);
    return [change, button("edit", () => this.edit()), menu(t("more_actions", { name: job.name }), further)];
  }

  #showDays(found) {
    const total = found && usedByJob(found, this.job.id);
    this.days.hidden = !total;
    if (!total) return;
    const days = daysOfJob(found, this.job.id);
    const most = Math.max(...days.map(({ used }) => slotsOf(used)));
    const shown = days.map(({ day, used }) => ({
      level: slotsOf(used) / most,
      state: stateOf(used),
      words: `${formatDayShort(day)}: ${inNumbers(used)}`,
    }));
    const summary = `${t("last_days")}: ${inNumbers({ ...total, latest_ms: 0 })}`;
    this.days.show(t("last_days"), shown, days.length - 1, summary);
  }

  async #loadRuns() {
    const { runs } = await get(`automations/${inPath(this.job.id)}/runs?limit=${RUNS_SHOWN}`);
    this.runs = runs;
    this.strip.show(runs);
  }
}

/** The slots of a day, whether they ran or not. */
const slotsOf = (used) => (used ? used.runs + used.skipped + used.missed : 0);

/** `3 runs, 1 failed, 2 skipped, up to 2 s late, 3.1 k tokens, $0.02`. */
function inNumbers(used) {
  if (!used) return t("runs", { count: 0 });
  const parts = [t("runs", { count: used.runs })];
  if (used.failed) parts.push(t("failed_runs", { count: used.failed }));
  if (used.skipped) parts.push(t("skipped_slots", { count: used.skipped }));
  if (used.missed) parts.push(t("missed_slots", { count: used.missed }));
  if (used.latest_ms >= 1000) parts.push(t("late_up_to", { time: formatDuration(used.latest_ms) }));
  return [...parts, usedWords(used)].filter(Boolean).join(", ");
}

function stateOf(used) {
  if (!slotsOf(used)) return "";
  if (used.failed || used.missed) return "bad";
  return used.runs ? "good" : "passed";
}

/** Only the job whose turn is under way is running; another one that is due waits for it. */
function statusOf(job, chat) {
  if (job.state.pending) {
    return chat.runningJob === job.id ? ["running", t("running")] : ["waiting", t("outcome_queued")];
  }
  if (!job.enabled) return ["paused", t("paused")];
  const failures = job.state.consecutive_failures;
  if (failures) return ["error", t("failed_times", { count: failures })];
  return ["active", t("active")];
}

customElements.define("segue-automation", Automation);
