// One run: when it was due, how late it was, how it ended, its prompt, and the server's explanation.

import { get, inPath } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { formatDate, formatDuration } from "../lib/times.js";

class Run extends Part {
  build() {
    this.hidden = true;
  }

  async show(run, job, explain = false) {
    this.hidden = false;
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
      [t("lateness"), run.lateness_ms ? formatDuration(run.lateness_ms) : t("on_time")],
      [t("took"), duration(run)],
      [t("attempts"), run.attempt > 1 ? String(run.attempt) : null],
      [t("reason"), run.reason],
      [t("error"), run.error?.trim().split("\n").at(-1)],
      [t("delivery"), delivery(run)],
      [t("usage"), usage(run.usage)],
      [t("prompt"), promptName(run.prompt_ref)],
    ];
    const shown = facts.filter(([, value]) => value);
    return [
      h("p", h(`span.outcome.${outcome}`, t(`outcome_${outcome}`))),
      h(
        "dl",
        shown.flatMap(([name, value]) => [h("dt", name), h("dd", value)]),
      ),
      run.rendered_prompt && folded(t("rendered_prompt"), run.rendered_prompt),
      run.error?.trim().includes("\n") && folded(t("whole_error"), run.error),
    ].filter(Boolean);
  }

  async #explain(run, job) {
    const slot = run ? `?slot=${encodeURIComponent(run.slot)}` : "";
    try {
      const { text } = await get(`automations/${inPath(job.id)}/explain${slot}`);
      this.explanation.textContent = text;
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

function promptName(ref) {
  return ref?.id ? `${ref.id} v${ref.version}` : ref && String(ref);
}

const folded = (name, text) => h("details", h("summary", name), h("pre", { tabindex: "0" }, text));

const usage = (figures) =>
  figures &&
  Object.entries(figures)
    .filter(([, value]) => typeof value !== "object")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`)
    .join(", ");

customElements.define("segue-run", Run);
