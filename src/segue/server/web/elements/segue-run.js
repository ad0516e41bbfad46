// One run: when it was due and how late it was, how it ended, what the agent was given, and why.

import { get, inPath } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { date, took } from "../lib/times.js";

class Run extends Part {
  build() {
    this.hidden = true;
  }

  async show(run, job, ask = false) {
    this.hidden = false;
    const why = h("button.quiet", { onclick: () => this.#why(run, job) }, t("why"));
    this.told = h("div.told", { role: "status" });
    const close = h("button.icon-button.close", { "aria-label": t("close"), onclick: () => (this.hidden = true) }, icon("close"));
    this.replaceChildren(close, ...(run ? this.#facts(run) : []), why, this.told);
    why.hidden = ask;
    if (ask) await this.#why(run, job);
    else close.focus({ preventScroll: true });
    this.scrollIntoView({ block: "nearest" });
  }

  #facts(run) {
    const outcome = run.outcome ?? run.state;
    const ref = run.prompt_ref && (run.prompt_ref.id ? `${run.prompt_ref.id} v${run.prompt_ref.version}` : String(run.prompt_ref));
    const facts = [
      [t("slot"), date(new Date(run.slot))],
      [t("lateness"), run.lateness_ms ? took(run.lateness_ms) : t("on_time")],
      [t("took"), run.started_at && run.finished_at ? took(new Date(run.finished_at) - new Date(run.started_at)) : null],
      [t("attempts"), run.attempt > 1 ? String(run.attempt) : null],
      [t("reason"), run.reason],
      [t("error"), run.error?.trim().split("\n").at(-1)],
      [t("delivery"), run.delivery_error && `${t(run.delivery === "failed" ? "not_delivered" : "delivery_unknown")}: ${run.delivery_error}`],
      [t("usage"), usage(run.usage)],
      [t("prompt"), ref],
    ];
    return [
      h("p", h(`span.outcome.${outcome}`, t(`outcome_${outcome}`))),
      h("dl", facts.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", name), h("dd", value)])),
      run.rendered_prompt && folded(t("rendered_prompt"), run.rendered_prompt),
      run.error?.trim().includes("\n") && folded(t("whole_error"), run.error),
    ].filter(Boolean);
  }

  async #why(run, job) {
    const slot = run ? `?slot=${encodeURIComponent(run.slot)}` : "";
    try {
      const { text } = await get(`automations/${inPath(job.id)}/explain${slot}`);
      this.told.textContent = text;
    } catch (problem) {
      this.told.textContent = problem.message;
    }
  }
}

const folded = (name, text) => h("details", h("summary", name), h("pre", { tabindex: "0" }, text));

const usage = (figures) =>
  figures && Object.entries(figures).filter(([, value]) => typeof value !== "object").map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");

customElements.define("segue-run", Run);
