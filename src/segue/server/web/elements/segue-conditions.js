// Editor of an automation's conditions: a sentence each, and what happens if one of them does not hold.

import { conditionWords, kindOf, KINDS } from "../lib/conditions.js";
import { h, icon, Part, t } from "../lib/dom.js";

const UNITS = { minutes: 60, hours: 3600, days: 86_400 };
const MOST_SECONDS = 366 * UNITS.days;
const MOST_CONDITIONS = 10;
const MOST_WORDS = 10;
/** Stands for what is not chosen yet. */
const OPEN = { time: "…", words: "…", job: "…", outcome: "…" };
const OUTCOMES = ["ok", "empty", "error", "skipped", "missed"];

const option = (value, words, chosen) => h("option", { value, selected: value === chosen }, words);
const select = (label, options, chosen) =>
  h("select", { "aria-label": label }, options.map(([value, words]) => option(value, words, chosen)));

/** Fields for a duration; `read` throws a sentence if it is none. */
function duration(seconds, { optional = false } = {}) {
  const unit = Object.keys(UNITS).findLast((name) => seconds && seconds % UNITS[name] === 0) ?? "hours";
  const number = h("input", {
    type: "number",
    min: "1",
    value: seconds ? String(seconds / UNITS[unit]) : "",
    "aria-label": t("length"),
    placeholder: optional ? t("any_time") : null,
  });
  const units = select(t("unit"), Object.keys(UNITS).map((name) => [name, t(`unit_${name}`)]), unit);
  const read = () => {
    const value = Number(number.value) * UNITS[units.value];
    if (optional && !number.value && number.validity.valid) return null;
    if (!(value >= 1 && value <= MOST_SECONDS)) throw new Error(t("bad_length"));
    return value;
  };
  return { fields: [number, units], read };
}

function words(given) {
  const input = h("input", { type: "text", value: given.join(", "), "aria-label": t("words_said") });
  const read = () => {
    const found = input.value.split(/[,，、]/).map((word) => word.trim()).filter(Boolean);
    if (!found.length || found.length > MOST_WORDS) throw new Error(t("bad_words", { count: MOST_WORDS }));
    return found;
  };
  return { fields: [input], read };
}

/** The fields of a condition by its kind: `{ fields, read }`, where `read` returns the condition. */
function parts(kind, given, jobs) {
  const [test, ...since] = kind.split(/_(last_run|created)$/).filter(Boolean);
  const at = since.length ? { since: since[0] } : {};
  if (test === "quiet" || test === "active") {
    const time = duration(given.for_seconds);
    return { fields: time.fields, read: () => ({ if: test, for_seconds: time.read() }) };
  }
  if (test === "said" || test === "unsaid") {
    const said = words(given.words ?? []);
    return { fields: said.fields, read: () => ({ if: test, words: said.read(), ...at }) };
  }
  if (test !== "outcome") return { fields: [], read: () => ({ if: test, ...at }) };
  const time = duration(given.within_seconds, { optional: true });
  const job = select(t("automation"), jobs.map(({ id, name }) => [id, name]), given.job);
  const outcome = select(t("outcome"), OUTCOMES.map((each) => [each, t(`outcome_${each}`)]), given.is);
  const read = () => {
    if (!job.value) throw new Error(t("bad_other_job"));
    return { if: "outcome", job: job.value, is: outcome.value, within_seconds: time.read() };
  };
  return { fields: [job, outcome, ...time.fields], read };
}

class Conditions extends Part {
  /** `policy` is that of the job; `others` are the other jobs of its chat. */
  show({ when, otherwise }, others) {
    this.others = others;
    this.rows = h("div.conditions");
    this.add = h("button.quiet", { onclick: () => this.#add() }, icon("plus"), t("add_condition"));
    this.otherwise = h(
      "select",
      ["skip", "end", "postpone"].map((name) => option(name, t(`otherwise_${name}`), otherwise ?? "skip")),
    );
    this.instead = h("label", h("span", t("otherwise")), this.otherwise);
    this.problem = h("p.problem", { role: "status" });
    this.replaceChildren(
      h("fieldset", h("legend", t("conditions")), this.rows, this.add, this.instead, this.problem),
    );
    for (const condition of when ?? []) this.rows.append(this.#row(condition));
    this.addEventListener("input", () => this.#validate());
    this.#count();
  }

  /** `{ when, otherwise }` as a policy has them. Throws a sentence if a field is wrong. */
  read() {
    const when = [...this.rows.children].map((row) => row.read());
    return { when: when.length ? when : null, otherwise: when.length ? this.otherwise.value : null };
  }

  #row(condition) {
    const kind = kindOf(condition);
    const row = h("div.condition");
    const fields = h("span.fields");
    const kinds = kind ? KINDS.filter((each) => each !== "outcome" || this.others.length) : ["unknown"];
    const choice = select(t("condition"), kinds.map((each) => [each, t(`if_${each}`, OPEN)]), kind);
    const remove = () => {
      row.remove();
      this.#count();
      this.add.focus();
    };
    const change = (given) => {
      // A condition of a newer server is kept as it is.
      const made = kind ? parts(choice.value, given, this.others) : { fields: [], read: () => condition };
      fields.replaceChildren(...made.fields);
      row.read = made.read;
    };
    choice.addEventListener("change", () => {
      change({});
      this.#validate();
      fields.firstChild?.focus();
    });
    change(condition);
    const label = t("remove_condition", { words: conditionWords(condition, this.others) });
    row.append(choice, fields, h("button.icon-button", { named: label, onclick: remove }, icon("close")));
    return row;
  }

  #add() {
    const row = this.#row({ if: "unanswered", since: "last_run" });
    this.rows.append(row);
    this.#count();
    row.querySelector("select").focus();
  }

  #count() {
    const { length } = this.rows.children;
    this.instead.hidden = !length;
    this.add.hidden = length >= MOST_CONDITIONS;
    this.#validate();
  }

  #validate() {
    try {
      this.read();
      this.problem.textContent = "";
    } catch (problem) {
      this.problem.textContent = problem.message;
    }
  }
}

customElements.define("segue-conditions", Conditions);
