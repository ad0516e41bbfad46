// Form for changing an automation. The schedule is written in words, with a preview of how it will be read.

import { get, inPath, patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { field, form } from "../lib/form.js";
import { inWords } from "../lib/schedules.js";
import { toast } from "../lib/toast.js";
import { asWritten } from "../lib/written.js";
import "./segue-conditions.js";
import "./segue-hint.js";

class Edit extends Part {
  build() {
    this.hidden = true;
  }

  async show(job, chat) {
    const { models } = await get("models").catch(() => ({ models: [] }));
    const names = models.map(({ name }) => name);
    const before = {
      name: job.name,
      schedule: asWritten(job.schedule, chat.timezone),
      message: job.message,
      ...(names.length && { model: job.model ?? "" }),
      ...(names.length && job.mode === "check" && { look: job.look ?? "" }),
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
      const changes = Object.fromEntries(changed.map((name) => [name, inputs[name].value || null]));
      if (changes.schedule) changes.timezone = chat.timezone;
      const policy = changedPolicy(job.policy, {
        ...conditions.read(),
        renew_after: Number(inputs.renew.value) || null,
        quiet: inputs.quiet.value || null,
        tell: inputs.tell.value || null,
      });
      if (policy) changes.policy = policy;
      if (Object.keys(changes).length) await patch(`automations/${inPath(job.id)}`, changes);
      toast(t("saved"));
      chat.refreshFuture(0);
    };
    const hint = h("segue-hint");
    const choices = [
      "model" in before && choice("model", before.model, names, t("default_model")),
      "look" in before && choice("look", before.look, names, t("no_model")),
    ].filter(Boolean);
    const conditions = h("segue-conditions");
    conditions.show(job.policy, chat.jobs.filter(({ id }) => id !== job.id));
    const renew = field(
      "renew",
      h("input", {
        type: "number",
        min: "1",
        max: "1000",
        value: String(job.policy.renew_after ?? ""),
        placeholder: t("never"),
      }),
      { unit: t("unit_renew"), help: t("help_renew") },
    );
    const speaking = [
      spoken("quiet", ["", "defer", "skip", "hold", "through"], job.policy.quiet),
      spoken("tell", ["", "digest"], job.policy.tell),
    ];
    const all = [textField("name"), schedule, hint, message, ...choices, conditions, renew, ...speaking];
    const fields = form(all, save, () => {
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

/** What it does in quiet hours, and when its answers are sent. An empty value is what is usual. */
function spoken(name, values, chosen) {
  const words = (value) => t(`${name}_${value || "usual"}`);
  const options = values.map((value) => h("option", { value, selected: value === (chosen ?? "") }, words(value)));
  return field(name, h("select", options), { help: t(`help_${name}`) });
}

/** The fields of a policy that were changed; null if none was. */
function changedPolicy(before, wanted) {
  const differs = ([name, value]) => JSON.stringify(before[name] ?? null) !== JSON.stringify(value);
  const changed = Object.entries(wanted).filter(differs);
  return changed.length ? Object.fromEntries(changed) : null;
}

/** One of the models by name; a name that the settings no longer have stays until another one is chosen. */
function choice(name, chosen, names, none) {
  const values = ["", ...new Set([...names, chosen].filter(Boolean))];
  const options = values.map((value) => h("option", { value, selected: value === chosen }, value || none));
  return field(name, h("select", options));
}

customElements.define("segue-edit", Edit);
