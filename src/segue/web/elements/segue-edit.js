// Changing an automation. A schedule is written as one says it, and read by the server.

import { inPath, patch } from "../lib/api.js";
import { h, Part } from "../lib/dom.js";
import { toast } from "../lib/toast.js";
import { t } from "../lib/words.js";

class Edit extends Part {
  build() {
    this.hidden = true;
  }

  show(job, chat) {
    const before = { name: job.name, message: job.message, schedule: written(job.schedule) };
    const field = (name, made) => h("label", {}, t(`field_${name}`), Object.assign(made, { name }));
    this.problem = h("p.problem", { role: "alert" });
    this.form = h("form", { onsubmit: (event) => this.#save(event, before, job, chat) },
      field("name", h("input", { type: "text", value: before.name, required: true, maxlength: "200" })),
      field("schedule", h("input", { type: "text", value: before.schedule, required: true, maxlength: "200" })),
      field("message", h("textarea", { rows: "3", required: true }, before.message)),
      this.problem,
      h("div.verbs", {}, h("button.primary", { type: "submit" }, t("save")), h("button.quiet", { type: "button", onclick: () => (this.hidden = true) }, t("cancel"))),
    );
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.hidden = true;
    });
    this.replaceChildren(this.form);
    this.hidden = false;
    this.form.elements.name.focus();
  }

  async #save(event, before, job, chat) {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(this.form));
    const changes = Object.fromEntries(Object.entries(given).filter(([name, value]) => value.trim() !== before[name]));
    try {
      if (Object.keys(changes).length) await patch(`automations/${inPath(job.id)}`, changes);
      this.hidden = true;
      toast(t("saved"));
      chat.lookAhead(0);
    } catch (problem) {
      this.problem.textContent = problem.message || t("unreachable");
    }
  }
}

/** As the server reads it back. */
function written(schedule) {
  if (schedule.kind === "cron") return `${schedule.expr}${schedule.tz ? ` ${schedule.tz}` : ""}`;
  return schedule.kind === "every" ? `every ${schedule.every_seconds}s` : schedule.at;
}

customElements.define("segue-edit", Edit);
