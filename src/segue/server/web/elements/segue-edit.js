// Form for changing an automation. The schedule is written in words or as a cron line; the server reads it.

import { inPath, patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { field, form } from "../lib/form.js";
import { toast } from "../lib/toast.js";

class Edit extends Part {
  build() {
    this.hidden = true;
  }

  show(job, chat) {
    const before = { name: job.name, schedule: scheduleText(job.schedule), message: job.message };
    const textField = (name) =>
      field(name, h("input", { type: "text", value: before[name], required: true, maxlength: "200" }));
    const message = field("message", h("textarea", { rows: "3", required: true }, before.message));
    const save = async (inputs) => {
      const changed = Object.keys(before).filter((name) => inputs[name].value.trim() !== before[name]);
      const changes = Object.fromEntries(changed.map((name) => [name, inputs[name].value]));
      if (changes.schedule) changes.timezone = chat.timezone;
      if (changed.length) await patch(`automations/${inPath(job.id)}`, changes);
      toast(t("saved"));
      chat.refreshFuture(0);
    };
    const fields = form([textField("name"), textField("schedule"), message], save, () => {
      this.hidden = true;
    });
    this.replaceChildren(fields);
    this.hidden = false;
    fields.elements.name.focus();
  }
}

/** The schedule as text that the server can read. */
function scheduleText(schedule) {
  if (schedule.kind === "cron") return `${schedule.expr}${schedule.tz ? ` ${schedule.tz}` : ""}`;
  return schedule.kind === "every" ? `every ${schedule.every_seconds}s` : schedule.at;
}

customElements.define("segue-edit", Edit);
