// Quiet hours and digest of a conversation, in the settings: what is written is checked at once.

import { patch } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { form } from "../lib/form.js";
import { DAYS, daysOf, digestProblem, quietProblem } from "../lib/quiet.js";
import { format, formatDistance } from "../lib/times.js";
import { listed } from "../lib/tools.js";
import { toast } from "../lib/toast.js";

const HOUR = 3600;
const MONDAY = 2; // of January 2023
const dayName = (index, weekday) => format(new Date(2023, 0, MONDAY + index), { weekday });

class Quiet extends Part {
  show(chat) {
    this.chat = chat;
    const session = chat?.session;
    if (!session) return this.replaceChildren(h("p", t("quiet_later")));
    const edit = () => this.#edit(session);
    this.replaceChildren(
      h("p", inWords(session)),
      h("button.plain", { onclick: edit, "aria-label": t("quiet_edit") }, t("edit")),
    );
  }

  #edit({ quiet, digest }) {
    const fields = { ...quietFields(quiet), ...digestFields(digest) };
    const problem = h("p.problem", { role: "status" });
    const read = () => {
      const wanted = { quiet: readQuiet(fields), digest: readDigest(fields) };
      const wrong = (wanted.quiet && quietProblem(wanted.quiet)) || digestProblem(wanted.digest);
      return { wanted, wrong };
    };
    const check = () => {
      fields.hours.hidden = !fields.on.checked;
      // What is hidden is disabled, too: a browser would refuse the form because of it.
      for (const time of [fields.from, fields.to]) time.disabled = !fields.on.checked;
      for (const name of ["at", "every"]) {
        fields[name].disabled = fields[name].parentElement.hidden = fields.tell.value !== name;
      }
      problem.textContent = read().wrong;
    };
    const save = async () => {
      const { wanted, wrong } = read();
      if (wrong) throw new Error(wrong);
      await this.#save(wanted);
    };
    const help = h("p.help", t("quiet_help", { zone: this.chat.timezone }));
    const content = [h("label.check", fields.on, t("quiet_on")), fields.hours, fields.digest, help, problem];
    const made = form(content, save, () => this.show(this.chat));
    made.addEventListener("input", check);
    check();
    this.replaceChildren(made);
    fields.on.focus();
  }

  async #save({ quiet, digest }) {
    const body = {
      quiet: quiet && { ...quiet, days: quiet.days.length === DAYS.length ? "all" : quiet.days },
      digest: digest && ("at" in digest ? digest : { every_seconds: digest.hours * HOUR }),
    };
    const { notice, ...session } = await patch(this.chat.path, body);
    this.chat.changed(session);
    toast(notice ? t("digest_no_effect") : t("saved"));
  }
}

function quietFields(quiet) {
  const time = (label, value) => h("input", { type: "time", value, "aria-label": t(label), required: true });
  const days = DAYS.map((day, index) =>
    h(
      "label.weekday",
      h("input", { type: "checkbox", value: day, checked: !quiet || daysOf(quiet.days).includes(day) }),
      h("span", { title: dayName(index, "long") }, dayName(index, "short")),
    ),
  );
  const [from, to] = [time("quiet_from", quiet?.from ?? "22:00"), time("quiet_to", quiet?.to ?? "07:00")];
  const on = h("input", { type: "checkbox", checked: Boolean(quiet) });
  const hours = h(
    "div.hours",
    h("span.entry", from, "–", to),
    h("div.days", { role: "group", "aria-label": t("quiet_days") }, days),
  );
  return { on, from, to, days, hours };
}

function digestFields(digest) {
  const chosen = digest?.at ? "at" : digest?.every_seconds ? "every" : "now";
  const tell = h(
    "select",
    ["now", "at", "every"].map((name) =>
      h("option", { value: name, selected: name === chosen }, t(`digest_${name}`)),
    ),
  );
  const at = h("input", { type: "time", value: digest?.at ?? "08:00" });
  const hours = digest?.every_seconds ? String(digest.every_seconds / HOUR) : "4";
  const every = h("input", { type: "number", min: "0.25", max: "24", step: "0.25", value: hours });
  const shown = h(
    "div.digest",
    h("label", h("span", t("digest")), tell),
    h("label", h("span", t("digest_time")), at),
    h("label", h("span", t("digest_hours")), every),
  );
  return { tell, at, every, digest: shown };
}

function readQuiet({ on, from, to, days }) {
  if (!on.checked) return null;
  const chosen = days.map((label) => label.querySelector("input")).filter((input) => input.checked);
  return { from: from.value, to: to.value, days: chosen.map((input) => input.value) };
}

function readDigest({ tell, at, every }) {
  if (tell.value === "now") return null;
  return tell.value === "at" ? { at: at.value } : { hours: Number(every.value) };
}

function inWords({ quiet, digest }) {
  const parts = [quiet ? t("quiet_words", { ...quiet, days: daysInWords(quiet.days) }) : t("quiet_none")];
  if (digest?.at) parts.push(t("digest_words_at", { time: digest.at }));
  if (digest?.every_seconds) {
    parts.push(t("digest_words_every", { time: formatDistance(digest.every_seconds * 1000) }));
  }
  return parts.join(" ");
}

function daysInWords(days) {
  if (days === "all" || days === "weekdays") return t(`quiet_${days}`);
  return listed(days.map((day) => dayName(DAYS.indexOf(day), "short")));
}

customElements.define("segue-quiet", Quiet);
