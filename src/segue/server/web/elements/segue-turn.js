// A turn: its prompt, thinking, tool calls and answer, and how it ended.

import { account } from "../lib/account.js";
import { arrange, h, icon, Part, setText, t } from "../lib/dom.js";
import { scheduledBy } from "../lib/tools.js";
import { tailOf } from "../lib/partial.js";
import { setHtml } from "../lib/prose.js";
import { copyButton, isOnlyFiles, row } from "../lib/row.js";
import { formatUpcoming } from "../lib/times.js";
import "./segue-card.js";
import "./segue-question.js";
import "./segue-tool.js";

/** Outcomes that are shown as one line instead of an answer. */
const SLIM = new Set(["empty", "error", "interrupted", "skipped", "missed", "cancelled"]);

const LONG_CHARACTERS = 1200;
const LONG_LINES = 16;
const isLong = (text) => text.length > LONG_CHARACTERS || text.split("\n").length > LONG_LINES;

/** A long message shows its beginning, and the rest on request. */
function folded(words) {
  const button = h("button.quiet.unfold", { "aria-expanded": "false" }, t("show_more"));
  button.addEventListener("click", () => {
    const open = words.classList.toggle("folded");
    button.textContent = t(open ? "show_more" : "show_less");
    button.setAttribute("aria-expanded", String(!open));
  });
  words.classList.add("folded");
  return [words, button];
}

const KINDS = { recall: "recall", system: "system_job" };

class Turn extends Part {
  #tools = new Map();
  #cards = new Map();

  show(turn) {
    this.turn = turn;
    if (!this.asked) this.#create();
    this.dataset.turn = turn.id;
    this.classList.toggle("scheduled", Boolean(turn.source));
    this.classList.toggle("running", turn.state === "running");
    this.setAttribute("aria-busy", String(turn.state === "running"));
    this.#showPrompt(turn);
    const tools = turn.tools.map((tool) => this.#tool(tool));
    arrange(this.tools, tools);
    arrange(
      this.cards,
      turn.tools.map(scheduledBy).filter(Boolean).map((made) => this.#card(made)),
    );
    this.#showAnswer(turn);
    if (turn.question) this.#showQuestion(turn);
    this.grow(turn);
  }

  /** Updates a turn of which only the text or the thinking got longer. */
  grow(turn) {
    if (this.thinking.hidden !== !turn.thinking) this.thinking.hidden = !turn.thinking;
    setText(this.thoughts, turn.thinking);
    if (turn.text) this.answer.classList.remove("pending");
    if (!this.text.hidden) setHtml(this.text, turn.html, turn.outcome === null ? tailOf(turn) : "");
  }

  /** The part that takes the place of the ghost. */
  get head() {
    return this.asked;
  }

  #create() {
    this.setAttribute("role", "listitem");
    this.asked = h("div.asked");
    this.thoughts = h("pre.thoughts");
    this.thinking = h("details.thinking", h("summary", t("thinking")), this.thoughts);
    this.tools = h("div.tools");
    this.text = h("div.text.prose");
    this.cards = h("div.cards");
    this.closure = h("p.closure");
    this.undelivered = h("p.closure.undelivered");
    this.held = h("segue-held", { hidden: true });
    this.reply = h("segue-reply", { hidden: true });
    this.retry = h("button.quiet.copy", { named: t("retry"), onclick: () => this.#retry() }, icon("retry"));
    this.foot = h(
      "div.foot",
      this.retry,
      copyButton(t("copy_answer"), () => this.turn.text),
    );
    this.parts = h("segue-parts");
    this.answer = row("answer", {
      who: t("segue"),
      node: "dot",
      body: [
        ...[this.thinking, this.tools, this.text, this.parts, this.cards, this.closure, this.undelivered],
        ...[this.held, this.reply, this.foot],
      ],
    });
    this.append(this.asked, this.answer);
  }

  #showPrompt(turn) {
    const editable = this.chat.canReplace(turn);
    if (!this.differs(turn.asked?.id, turn.added.length, turn.source?.run_id, editable)) return;
    const rows = turn.added.map((message) => this.#message(message));
    if (turn.source) rows.unshift(this.#trigger(turn));
    else if (turn.asked) rows.unshift(this.#message(turn.asked, editable && !turn.added.length));
    if (turn.replaces && !turn.replacedBy) {
      rows.push(Object.assign(h("segue-versions"), { subject: { turn, chat: this.chat } }));
    }
    this.asked.replaceChildren(...rows);
  }

  #message(message, editable = false) {
    const words = h("div.words.prose", { hidden: isOnlyFiles(message) });
    setHtml(words, message.html);
    const body = [isLong(message.content) ? folded(words) : words].flat();
    if (message.parts.length) body.push(Object.assign(h("segue-parts"), { parts: message.parts }));
    if (editable) body.push(h("div.foot", this.#editButton()));
    return row("user", { who: t("you"), at: message.created_at, node: "dot", body });
  }

  #editButton() {
    const edit = ({ currentTarget }) => {
      const form = Object.assign(h("segue-rewrite"), { subject: { turn: this.turn, chat: this.chat } });
      currentTarget.closest(".body").append(form);
    };
    return h("button.quiet.copy", { named: t("edit_message"), onclick: edit }, icon("edit"));
  }

  /** Asks again: the new answer takes the place of this turn. */
  #retry() {
    this.chat.send("", { replaces: this.turn.id });
  }

  #trigger(turn) {
    const prompt = (turn.asked?.content ?? "").split("\n\n").slice(1).join("\n\n");
    const kind = t(KINDS[turn.source.kind] ?? "automation");
    const label = [h("span.kind", kind), h("span.of", turn.source.label)];
    const body = prompt
      ? h("details.told", h("summary.label", { title: t("what_was_asked") }, label), h("p", prompt))
      : h("div.label", label);
    return row("trigger", { at: turn.at, node: "clock", body });
  }

  #tool(tool) {
    let element = this.#tools.get(tool.call_id);
    if (!element) {
      element = h("segue-tool");
      this.#tools.set(tool.call_id, element);
    }
    element.show(tool);
    return element;
  }

  #card({ kind, id }) {
    if (!this.#cards.has(id)) {
      const card = h("segue-card");
      card.subject = { kind, id, chat: this.chat };
      this.#cards.set(id, card);
    }
    return this.#cards.get(id);
  }

  #showQuestion(turn) {
    if (this.question) return;
    this.question = Object.assign(h("segue-question"), { turn, chat: this.chat });
    this.cards.after(this.question);
  }

  #showAnswer(turn) {
    const slim = turn.quiet || SLIM.has(turn.outcome);
    this.classList.toggle("slim", slim && !turn.tools.length);
    this.classList.toggle("failed", turn.outcome === "error" || turn.outcome === "interrupted");
    this.text.hidden = slim;
    this.foot.hidden = slim || turn.outcome === null || !turn.text;
    this.retry.hidden = !this.chat.canReplace(turn);
    if (turn.parts.length) this.parts.parts = turn.parts;
    this.answer.classList.toggle("pending", turn.outcome === null && !turn.text && turn.state === "running");
    this.closure.replaceChildren(...this.#closure(turn, slim));
    this.closure.hidden = !this.closure.childNodes.length;
    this.#showDelivery(turn);
    this.#showReply(turn);
  }

  /** What a user can answer to the message of a job. */
  #showReply({ messageId, source }) {
    this.reply.hidden = !messageId || this.text.hidden || source?.kind !== "cron";
    if (!this.reply.hidden) this.reply.subject = { chat: this.chat, id: messageId, label: source.label };
  }

  /** Marks an answer that the channel refused, or may not have taken. */
  #showDelivery(turn) {
    this.held.subject = { chat: this.chat, until: turn.heldUntil };
    this.undelivered.hidden = turn.delivery !== "failed" && turn.delivery !== "unknown";
    if (this.undelivered.hidden) return;
    const words = t(turn.delivery === "failed" ? "not_delivered" : "delivery_unknown");
    this.undelivered.replaceChildren(h("span.outcome.error", words), " ", h("span", turn.refusal ?? ""));
  }

  #closure(turn, slim) {
    if (turn.retryAt) {
      const time = formatUpcoming(new Date(turn.retryAt));
      return [h("span.state", t("tried_again", { time }))];
    }
    if (turn.outcome === null && turn.attempt > 1) {
      return [h("span.state", t("attempt", { n: turn.attempt }))];
    }
    if (!slim) return [];
    const text = turn.outcome !== "empty" ? turn.text : t(turn.quiet ? "nothing_new" : "no_answer");
    if (turn.quiet && turn.outcome === "empty") return [h("span", text)];
    return [
      h(`span.outcome.${turn.outcome}`, t(`outcome_${turn.outcome}`)),
      " ",
      h("span", text),
      " ",
      this.#settingsButton(turn),
      this.#whyButton(turn),
      this.chat.canReplace(turn)
        ? h("button.quiet.why", { onclick: () => this.#retry() }, t("retry"))
        : "",
    ];
  }

  /** For a failure that the model's settings fix. */
  #settingsButton(turn) {
    if (!turn.code?.startsWith("model_") || !account.isAdmin) return "";
    const open = () => this.emit("segue-settings", "model");
    return h("button.quiet.why", { onclick: open }, t("model_settings"));
  }

  #whyButton(turn) {
    if (!turn.source || turn.outcome === "ok") return "";
    const detail = { job: turn.source.job_id, run: turn.source.run_id };
    return h("button.quiet.why", { onclick: () => this.emit("segue-why", detail) }, t("why"));
  }
}

customElements.define("segue-turn", Turn);
