// A turn: what was asked, what was thought and done, what was said, and how it ended.

import { arrange, h, Part, setHtml, setText, t } from "../lib/dom.js";
import { copyButton, row } from "../lib/row.js";
import { coming } from "../lib/times.js";
import "./segue-tool.js";

/** Outcomes whose closure is a line and not an answer. */
const SLIM = new Set(["empty", "error", "interrupted", "skipped", "missed", "cancelled"]);

class Turn extends Part {
  #tools = new Map();

  show(turn) {
    this.turn = turn;
    if (!this.asked) this.#make();
    this.dataset.turn = turn.id;
    this.classList.toggle("scheduled", Boolean(turn.source));
    this.classList.toggle("running", turn.state === "running");
    this.setAttribute("aria-busy", String(turn.state === "running"));
    this.#ask(turn);
    arrange(this.tools, turn.tools.map((tool) => this.#tool(tool)));
    this.#say(turn);
    this.grow(turn);
  }

  /** Only its words have grown. */
  grow(turn) {
    if (this.thinking.hidden !== !turn.thinking) this.thinking.hidden = !turn.thinking;
    setText(this.thoughts, turn.thinking);
    if (turn.text) this.answer.classList.remove("pending");
    if (!this.text.hidden) setHtml(this.text, turn.html, turn.text.slice(turn.shown));
  }

  /** Where the turn begins: what a ghost becomes. */
  get head() {
    return this.asked;
  }

  #make() {
    this.setAttribute("role", "listitem");
    this.asked = h("div.asked");
    this.thoughts = h("pre.thoughts");
    this.thinking = h("details.thinking", h("summary", t("thinking")), this.thoughts);
    this.tools = h("div.tools");
    this.text = h("div.text.prose");
    this.closure = h("p.closure");
    this.undelivered = h("p.closure.undelivered");
    this.foot = h("div.foot", copyButton(t("copy_answer"), () => this.turn.text, t("copied")));
    this.answer = row("answer", { who: t("segue"), node: "dot", body: [this.thinking, this.tools, this.text, this.closure, this.undelivered, this.foot] });
    this.append(this.asked, this.answer);
  }

  #ask(turn) {
    if (!this.differs(turn.asked?.id, turn.added.length, turn.source?.run_id)) return;
    const rows = turn.source ? [this.#trigger(turn)] : turn.asked ? [this.#words(turn.asked)] : [];
    this.asked.replaceChildren(...rows, ...turn.added.map((message) => this.#words(message)));
  }

  #words(message) {
    const words = h("div.words.prose");
    setHtml(words, message.html);
    return row("user", { who: t("you"), at: message.created_at, node: "dot", body: words });
  }

  #trigger(turn) {
    const recall = turn.source.kind === "recall";
    const told = (turn.asked?.content ?? "").split("\n\n").slice(1).join("\n\n");
    const kind = t(recall ? "recall" : turn.source.kind === "system" ? "system_job" : "automation");
    const label = [h("span.kind", kind), h("span.of", turn.source.label)];
    const body = told ? h("details.told", h("summary.label", { title: t("what_was_asked") }, label), h("p", told)) : h("div.label", label);
    return row("trigger", { at: turn.at, node: "clock", body });
  }

  #tool(tool) {
    let shown = this.#tools.get(tool.call_id);
    if (!shown) this.#tools.set(tool.call_id, (shown = h("segue-tool")));
    shown.show(tool);
    return shown;
  }

  #say(turn) {
    const slim = turn.quiet || SLIM.has(turn.outcome);
    this.classList.toggle("slim", slim && !turn.tools.length);
    this.classList.toggle("failed", turn.outcome === "error" || turn.outcome === "interrupted");
    this.text.hidden = slim;
    this.foot.hidden = slim || turn.outcome === null || !turn.text;
    this.answer.classList.toggle("pending", turn.outcome === null && !turn.text && turn.state === "running");
    this.closure.replaceChildren(...this.#closure(turn, slim));
    this.closure.hidden = !this.closure.childNodes.length;
    this.#lose(turn);
  }

  /** An answer that its channel did not take, or may not have taken. */
  #lose(turn) {
    this.undelivered.hidden = turn.delivery !== "failed" && turn.delivery !== "unknown";
    if (this.undelivered.hidden) return;
    const words = t(turn.delivery === "failed" ? "not_delivered" : "delivery_unknown");
    this.undelivered.replaceChildren(h("span.outcome.error", words), " ", h("span", turn.refusal ?? ""));
  }

  #closure(turn, slim) {
    if (turn.retryAt) return [h("span.state", t("tried_again", { time: coming(new Date(turn.retryAt)) }))];
    if (turn.outcome === null && turn.attempt > 1) return [h("span.state", t("attempt", { n: turn.attempt }))];
    if (!slim) return [];
    const said = turn.outcome !== "empty" ? turn.text : t(turn.quiet ? "nothing_new" : "no_answer");
    if (turn.quiet && turn.outcome === "empty") return [h("span", said)];
    return [h(`span.outcome.${turn.outcome}`, t(`outcome_${turn.outcome}`)), " ", h("span", said), " ", this.#why(turn)];
  }

  #why(turn) {
    if (!turn.source || turn.outcome === "ok") return "";
    const detail = { job: turn.source.job_id, run: turn.source.run_id };
    return h("button.quiet.why", { onclick: () => this.tell("segue-why", detail) }, t("why"));
  }
}

customElements.define("segue-turn", Turn);
