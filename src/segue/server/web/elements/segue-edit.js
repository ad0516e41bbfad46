// Changing an automation. A schedule is written as one says it, and read by the server.

import { inPath, patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { field, form } from "../lib/form.js";
import { toast } from "../lib/toast.js";

class Edit extends Part {
  build() {
    this.hidden = true;
  }

  show(job, chat) {
    const before = { name: job.name, schedule: written(job.schedule), message: job.message };
    const line = (name) => field(name, h("input", { type: "text", value: before[name], required: true, maxlength: "200" }));
    const message = field("message", h("textarea", { rows: "3", required: true }, before.message));
    const save = async (given) => {
      const changed = Object.keys(before).filter((name) => given[name].value.trim() !== before[name]);
      const changes = Object.fromEntries(changed.map((name) => [name, given[name].value]));
      if (changes.schedule) changes.timezone = chat.timezone;
      if (changed.length) await patch(`automations/${inPath(job.id)}`, changes);
      toast(t("saved"));
      chat.lookAhead(0);
    };
    const fields = form([line("name"), line("schedule"), message], save, () => (this.hidden = true));
    this.replaceChildren(fields);
    this.hidden = false;
    fields.elements.name.focus();
  }
}

/** As the server reads it back. */
function written(schedule) {
  if (schedule.kind === "cron") return `${schedule.expr}${schedule.tz ? ` ${schedule.tz}` : ""}`;
  return schedule.kind === "every" ? `every ${schedule.every_seconds}s` : schedule.at;
}

customElements.define("segue-edit", Edit);
