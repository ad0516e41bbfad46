// One run: when it was due, how late it was, how it ended, its prompt, and the server's explanation.

import { get, inPath } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { copyButton } from "../lib/row.js";
import { formatDate, formatDuration } from "../lib/times.js";
import { usageLine } from "../lib/usage.js";

/** Below this a run counts as on time. */
const ON_TIME_MS = 1000;

class Run extends Part {
  build() {
    this.hidden = true;
  }

  /** `sentence`: how the conversation says that it failed, if it is known. */
  async show(run, job, { explain = false, sentence = "" } = {}) {
    this.hidden = false;
    this.sentence = sentence;
    const why = h("button.quiet", { onclick: () => this.#explain(run, job) }, t("why"));
    this.explanation = h("div.told", { role: "status" });
    const close = h(
      "button.icon-button.close",
      { "aria-label": t("close"), onclick: () => (this.hidden = true) },
      icon("close"),
    );
    this.replaceChildren(close, ...(run ? this.#facts(run) : []), why, this.explanation);
    why.hidden = explain;
    if (explain) await this.#explain(run, job);
    else close.focus({ preventScroll: true });
    this.scrollIntoView({ block: "nearest" });
  }

  #facts(run) {
    const outcome = run.outcome ?? run.state;
    const facts = [
      [t("slot"), formatDate(new Date(run.slot))],
      [t("lateness"), lateness(run)],
      [t("took"), duration(run)],
      [t("attempts"), run.attempt > 1 ? String(run.attempt) : null],
      [t("reason"), run.reason],
      [t("delivery"), delivery(run)],
      [t("usage"), usageLine(run.usage)],
    ];
    const shown = facts.filter(([, value]) => value);
    return [
      h("p", h(`span.outcome.${outcome}`, t(`outcome_${outcome}`)), " ", run.error && this.#failed(run)),
      h(
        "dl",
        shown.flatMap(([name, value]) => [h("dt", name), h("dd", value)]),
      ),
      run.error && folded(t("details"), run.error.trim()),
      run.rendered_prompt && folded(t("rendered_prompt"), run.rendered_prompt, promptName(run.prompt_ref)),
    ].filter(Boolean);
  }

  /** One sentence; the error itself is behind Details. */
  #failed(run) {
    return h("span.sentence", this.sentence || run.reason || t("run_failed"));
  }

  async #explain(run, job) {
    const slot = run ? `?slot=${encodeURIComponent(run.slot)}` : "";
    try {
      const { text } = await get(`automations/${inPath(job.id)}/explain${slot}`);
      this.explanation.replaceChildren(...paragraphs(text));
    } catch (problem) {
      this.explanation.textContent = problem.message;
    }
  }
}

function duration(run) {
  if (!run.started_at || !run.finished_at) return null;
  return formatDuration(new Date(run.finished_at) - new Date(run.started_at));
}

function delivery(run) {
  if (!run.delivery_error) return null;
  const state = t(run.delivery === "failed" ? "not_delivered" : "delivery_unknown");
  return `${state}: ${run.delivery_error}`;
}

/** From its time to its start: what it waited for counts too. */
function lateness(run) {
  if (!run.started_at) return run.lateness_ms >= ON_TIME_MS ? formatDuration(run.lateness_ms) : null;
  const ms = new Date(run.started_at) - new Date(run.slot);
  return ms < ON_TIME_MS ? t("on_time") : formatDuration(ms);
}

/** The explanation without the error itself, which Details has; lines that begin with a dash are a list. */
function paragraphs(text) {
  const said = text
    .replace(/ ?The error was: .*$/gm, "")
    .replace(/ \([0-9a-f]{16,}(?:, ([^)]*))?\)/g, withTime);
  const lines = said.split("\n").filter((line) => line.trim());
  const items = lines.filter((line) => line.startsWith("- ")).map((line) => h("li", line.slice(2)));
  const before = lines.filter((line) => !line.startsWith("- ")).map((line) => h("p", line));
  return items.length ? [...before, h("ul", items)] : before;
}

/** The id of a turn says nothing to a person; how long it took does. */
const withTime = (_, time) => (time ? ` (${time})` : "");

function promptName(ref) {
  return ref?.id ? `${ref.id} v${ref.version}` : ref && String(ref);
}

const folded = (name, text, title = "") =>
  h(
    "details",
    h("summary", { title }, name),
    h("pre", { tabindex: "0" }, text),
    copyButton(t("copy"), () => text),
  );

customElements.define("segue-run", Run);
