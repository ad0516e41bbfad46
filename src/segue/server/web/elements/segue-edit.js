// Form for changing an automation. The schedule is written in words, with a preview of how it will be read.

import { inPath, patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { field, form } from "../lib/form.js";
import { asWritten, inWords } from "../lib/schedules.js";
import { toast } from "../lib/toast.js";
import "./segue-hint.js";

class Edit extends Part {
  build() {
    this.hidden = true;
  }

  show(job, chat) {
    const before = {
      name: job.name,
      schedule: asWritten(job.schedule, chat.timezone),
      message: job.message,
    };
    const textField = (name, more = {}) =>
      field(
        name,
        h("input", { type: "text", value: before[name], required: true, maxlength: "200", ...more }),
      );
    const schedule = textField("schedule", {
      placeholder: inWords(job.schedule),
      required: Boolean(before.schedule),
    });
    const message = field("message", h("textarea", { rows: "3", required: true }, before.message));
    const save = async (inputs) => {
      const changed = Object.keys(before).filter((name) => inputs[name].value.trim() !== before[name]);
      const changes = Object.fromEntries(changed.map((name) => [name, inputs[name].value]));
      if (changes.schedule) changes.timezone = chat.timezone;
      if (changed.length) await patch(`automations/${inPath(job.id)}`, changes);
      toast(t("saved"));
      chat.refreshFuture(0);
    };
    const hint = h("segue-hint");
    const fields = form([textField("name"), schedule, hint, message], save, () => {
      this.hidden = true;
    });
    this.replaceChildren(fields);
    this.hidden = false;
    const preview = () => {
      const text = fields.elements.schedule.value;
      hint.written = { text, timezone: chat.timezone, days: job.schedule.days ?? chat.days, isTime: true };
    };
    fields.elements.schedule.addEventListener("input", preview);
    preview();
    fields.elements.name.focus();
  }
}

customElements.define("segue-edit", Edit);
