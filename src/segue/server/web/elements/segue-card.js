// Confirmation of a job that the agent has scheduled: when, what, the next three times, and what can be done.

import { pauseJob, removeJob, resumeJob } from "../lib/actions.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { actionButton } from "../lib/row.js";
import { inWords } from "../lib/schedules.js";
import { formatDate, formatFull } from "../lib/times.js";

class Card extends Part {
  enter() {
    if (!this.chat) return;
    this.on(this.chat, "future", () => this.#draw());
    this.#draw();
  }

  set subject({ id, chat }) {
    this.jobId = id;
    this.chat = chat;
    if (this.isConnected) this.enter();
  }

  #draw() {
    const jobs = this.chat?.jobs;
    const job = jobs?.find((each) => each.id === this.jobId);
    this.hidden = !jobs;
    if (!jobs || !this.differs(job ?? null)) return;
    if (!job) return this.replaceChildren(h("p.over", t("no_longer_scheduled")));
    const single = job.schedule.kind === "at";
    const times = job.next_runs.map((at) => new Date(at));
    this.replaceChildren(
      icon("clock"),
      h(
        "div.about",
        h("strong", inWords(job.schedule)),
        h("span.of", job.name),
        !job.enabled && h("span.status.paused", t("paused")),
        job.enabled &&
          !single &&
          h("div.times", ...times.map((at) => h("time.chip", { title: formatFull(at) }, formatDate(at)))),
        h("div.verbs", this.#buttons(job)),
      ),
    );
  }

  #buttons(job) {
    const button = (name, act) => actionButton(name, job.name, act);
    const change = job.enabled
      ? button("pause", () => pauseJob(this.chat, job))
      : button("resume", () => resumeJob(this.chat, job));
    return [
      button("edit", () => this.emit("segue-edit", job.id)),
      change,
      button("undo", () => removeJob(this.chat, job)),
    ];
  }
}

customElements.define("segue-card", Card);
