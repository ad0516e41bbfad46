// The open conversation, past and future in one column. Whoever reads at its end stays at its end.

import { calm, framed, h, icon, Part, t } from "../lib/dom.js";
import { live } from "../lib/live.js";
import "./segue-composer.js";
import "./segue-header.js";
import "./segue-past.js";
import "./segue-queue.js";

const NEAR = 60;
const MOVE_MS = 190;
/** Nobody reads faster than twenty pieces a second; each of them costs a layout. */
const TEXT_PAUSE = 50;

class Talk extends Part {
  #chat = null;
  #changed = new Map();
  #pinned = true;
  #away = null;

  build() {
    this.header = h("segue-header");
    this.recall = h("segue-recall");
    this.line = h("div.line", { role: "status" });
    this.past = h("segue-past");
    this.queue = h("segue-queue");
    this.future = h("segue-future");
    this.empty = h("segue-empty", { hidden: true });
    this.note = h("p.note", { role: "status" });
    this.column = h("div.column", this.note, this.past, this.queue, this.empty, this.future);
    this.scroller = h("div.scroll", { tabindex: "0", role: "region", "aria-label": t("conversation") }, this.column);
    this.jump = h("button.jump", { hidden: true, onclick: () => this.#toEnd(true) }, icon("down"), h("span", t("latest")));
    this.composer = h("segue-composer");
    this.said = h("div.offscreen", { "aria-live": "polite" });
    this.append(this.header, this.line, this.recall, this.scroller, h("div.bottom", this.jump, this.composer), this.said);
  }

  enter() {
    this.flush = framed(() => this.#flush(), TEXT_PAUSE);
    this.on(this.scroller, "scroll", () => this.#scrolled());
    this.on(live, "state", () => this.#connection());
    this.on(live, "outbox", () => this.#queue());
    this.on(this, "segue-try", ({ detail }) => this.composer.fill(detail));
    const grown = new ResizeObserver(() => {
      if (this.#pinned) this.#toEnd();
      this.#scrolled();
    });
    grown.observe(this.column);
    grown.observe(this.scroller);
    this.#connection();
  }

  set chat(chat) {
    this.#chat = chat;
    this.#pinned = true;
    this.#changed.clear();
    this.past.clear();
    this.composer.chat = chat;
    const hearing = {
      opened: () => this.#draw(),
      entry: (detail) => this.#entry(detail),
      future: () => this.#ahead(),
      session: () => this.header.show(chat),
      queue: () => this.#queue(),
    };
    for (const [type, hear] of Object.entries(hearing)) {
      chat.addEventListener(type, (event) => chat === this.#chat && hear(event.detail));
    }
    this.#draw();
    if (matchMedia("(hover: hover)").matches) this.composer.focus();
  }

  write() {
    this.composer.focus();
  }

  stop() {
    if (this.#chat?.running) this.#chat.stop();
  }

  #draw() {
    const chat = this.#chat;
    this.note.textContent = chat.state === "failed" ? chat.problem.message : chat.state === "loading" ? t("loading") : "";
    this.note.hidden = !this.note.textContent;
    this.past.show(chat.fold.entries);
    this.#ahead();
    this.#queue();
    this.#toEnd();
    this.#scrolled();
  }

  #ahead() {
    this.recall.chat = this.#chat;
    this.future.chat = this.#chat;
    this.#isEmpty();
  }

  #queue() {
    this.queue.show(this.#chat);
    this.header.show(this.#chat);
    this.#isEmpty();
  }

  #isEmpty() {
    const chat = this.#chat;
    this.empty.hidden = chat.state === "loading" || chat.state === "failed" || Boolean(chat.fold.entries.length || chat.ghosts.length || this.queue.children.length);
  }

  #entry({ entry, event }) {
    if (event?.type === "stream_start" || (event?.type === "message" && !event.undelivered)) this.#arrive(entry);
    if (event?.type === "stream_end") this.header.show(this.#chat);
    if (event?.type === "stream_end" && entry.text) this.said.textContent = `${t("segue")}: ${entry.text.slice(0, 400)}`;
    const grown = !event || event.type.endsWith("_delta");
    this.#changed.set(entry, grown && this.#changed.get(entry) !== false);
    this.flush();
  }

  /** A ghost becomes a turn where it stands: the turn is drawn first and moved from there. */
  #arrive(entry) {
    this.#queue();
    const from = entry.source && this.future.placeOf?.(entry.source);
    if (entry.source) this.future.give?.(entry.source);
    this.past.show(this.#chat.fold.entries);
    this.#isEmpty();
    if (this.#pinned) this.#toEnd();
    const head = this.past.of(entry)?.head;
    if (!from || !head || calm()) return;
    const way = from.top - head.getBoundingClientRect().top;
    head.animate([{ transform: `translateY(${way}px)`, opacity: 0.55 }, { transform: "none", opacity: 1 }], { duration: MOVE_MS, easing: "cubic-bezier(.2,.7,.2,1)" });
  }

  #flush() {
    for (const [entry, grown] of this.#changed) this.past.update(entry, grown);
    this.#changed.clear();
  }

  async #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.#pinned = scrollHeight - scrollTop - clientHeight < NEAR;
    this.jump.hidden = this.#pinned;
    if (scrollTop < clientHeight && this.#chat?.hasOlder) await this.#older();
  }

  /** What is read stays where it is while older words come in above it. */
  async #older() {
    const chat = this.#chat;
    const before = await chat.older().catch(() => []);
    if (!before.length || chat !== this.#chat) return;
    const { scrollHeight, scrollTop } = this.scroller;
    this.past.show(chat.fold.entries);
    this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - scrollHeight;
    this.#scrolled();
  }

  #toEnd(smooth = false) {
    this.#pinned = true;
    this.jump.hidden = true;
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: smooth && !calm() ? "smooth" : "instant" });
  }

  /** A short break is nobody's business. */
  #connection() {
    clearTimeout(this.#away);
    const show = (words) => {
      this.line.textContent = words;
      this.classList.toggle("away", Boolean(words));
    };
    if (live.state === "open") return show("");
    this.#away = setTimeout(() => show(t("reconnecting")), 700);
  }
}

customElements.define("segue-talk", Talk);
