// A question that the agent waits on: what, until when, and its choices. Once it is over, its words only.

import { h, Part, t } from "../lib/dom.js";
import { live } from "../lib/connection.js";
import { setHtml } from "../lib/prose.js";
import { everySecond, formatDate } from "../lib/times.js";

/** Whether it still waits for an answer, one is on its way, or how it ended. */
function stateOf(turn, chat) {
  const until = new Date(turn.question.until);
  const next = chat.fold.after(turn);
  if (next) return !next.source && new Date(next.at) <= until ? "answered" : "unanswered";
  if (until <= Date.now()) return "unanswered";
  const answers = live.outbox(chat.key).length || chat.fold.waiting.some((each) => !each.label);
  return answers ? "answering" : "open";
}

class Question extends Part {
  build() {
    this.words = h("div.prose", { id: `question-${this.turn.id}` });
    this.offers = h("div.offers");
    this.note = h("p.held");
    this.setAttribute("role", "group");
    this.setAttribute("aria-labelledby", this.words.id);
    this.append(this.words, this.offers, this.note);
  }

  enter() {
    this.on(this.chat, "entry", ({ detail }) => detail.event?.type === "stream_start" && this.#draw());
    this.on(this.chat, "queue", () => this.#draw());
    this.on(live, "outbox", () => this.#draw());
    everySecond(() => this.#draw(), this.lifetime.signal);
    this.#draw();
  }

  #draw() {
    const { html, choices, until } = this.turn.question;
    const state = stateOf(this.turn, this.chat);
    const held = this.chat.fold.waiting.filter((each) => each.label).length;
    if (!this.differs(state, held)) return;
    setHtml(this.words, html);
    this.note.textContent = this.#note(new Date(until), state, held);
    this.note.hidden = !this.note.textContent;
    if (this.className !== state) this.#offer(choices, state);
    // What came after it does not change any more.
    if (this.chat.fold.after(this.turn)) this.lifetime.abort();
  }

  #offer(choices, state) {
    const focused = this.contains(document.activeElement);
    const disabled = state !== "open";
    const offered = /^(open|answering)$/.test(state) ? choices : [];
    const buttons = offered.map((choice) =>
      h("button", { disabled, onclick: () => this.chat.send(choice), dir: "auto" }, choice),
    );
    this.className = state;
    this.offers.hidden = !buttons.length;
    this.offers.replaceChildren(...buttons);
    if (focused) this.emit("segue-write");
    this.emit("segue-asked");
  }

  #note(until, state, held) {
    if (state === "answered") return "";
    const time = formatDate(until);
    if (state === "unanswered") return t("not_answered", { time });
    const others = held ? t("scheduled_held", { count: held }) : t("schedule_held");
    return `${t("waits_until", { time })} ${others}`;
  }
}

customElements.define("segue-question", Question);
