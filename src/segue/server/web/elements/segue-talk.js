// The open conversation, past and future in one column. A view that is at the end stays at the end.

import { h, icon, oncePerFrame, Part, prefersReducedMotion, t } from "../lib/dom.js";
import { live } from "../lib/connection.js";
import { listed } from "../lib/tools.js";
import "./segue-composer.js";
import "./segue-empty.js";
import "./segue-future.js";
import "./segue-header.js";
import "./segue-notify.js";
import "./segue-past.js";
import "./segue-queue.js";
import "./segue-recall.js";

/** Pixels from the end that still count as the end. */
const NEAR = 60;
const MOVE_MS = 190;
/** At most twenty updates a second: each costs a layout, and no reader is faster. */
const TEXT_PAUSE_MS = 50;

/** Elsewhere a focused field opens the keyboard over the conversation. */
const hasPointer = () => matchMedia("(hover: hover)").matches;

class Talk extends Part {
  #chat = null;
  #changed = new Map();
  #atEnd = true;
  #reconnectingTimer = null;

  build() {
    this.header = h("segue-header");
    this.recall = h("segue-recall");
    this.line = h("div.line", { role: "status" });
    this.past = h("segue-past");
    this.queue = h("segue-queue");
    this.future = h("segue-future");
    this.empty = h("segue-empty", { hidden: true });
    this.notify = h("segue-notify");
    this.note = h("p.note", { role: "status" });
    this.column = h("div.column", this.past, this.queue, this.empty, this.future, this.notify);
    this.scroller = h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": t("conversation") },
      this.column,
    );
    this.jump = h(
      "button.jump",
      { hidden: true, onclick: () => this.#scrollToEnd(true) },
      icon("down"),
      h("span", t("latest")),
    );
    this.composer = h("segue-composer");
    this.announcer = h("div.offscreen", { "aria-live": "polite" });
    this.append(
      this.header,
      this.line,
      this.recall,
      this.note,
      this.scroller,
      h("div.bottom", this.jump, this.composer),
      this.announcer,
    );
  }

  enter() {
    this.flush = oncePerFrame(() => this.#flush(), TEXT_PAUSE_MS);
    this.on(this.scroller, "scroll", () => this.#scrolled());
    this.on(live, "state", () => this.#showConnection());
    this.on(live, "outbox", () => this.#showQueue());
    this.on(this, "segue-write", () => (hasPointer() ? this.composer : this.scroller).focus());
    this.on(this, "segue-asked", () => this.#chat && this.header.show(this.#chat));
    this.on(this, "segue-reply", ({ detail }) => {
      this.composer.answer(detail);
      this.composer.focus();
    });
    this.on(this, "segue-try", ({ detail }) => this.composer.fill(detail));
    const resized = new ResizeObserver(() => {
      if (this.#atEnd) this.#scrollToEnd();
      this.#scrolled();
    });
    resized.observe(this.column);
    resized.observe(this.scroller);
    this.#showConnection();
  }

  set chat(chat) {
    this.#chat = chat;
    this.#atEnd = true;
    this.#changed.clear();
    this.past.clear();
    this.past.chat = chat;
    this.composer.chat = chat;
    const listeners = {
      opened: () => this.#draw(),
      entry: (detail) => this.#entryChanged(detail),
      future: () => {
        this.#showFuture();
        this.header.show(chat);
      },
      session: () => this.header.show(chat),
      archives: () => this.past.show(chat.fold.shown),
      queue: () => this.#showQueue(),
    };
    for (const [type, listener] of Object.entries(listeners)) {
      chat.addEventListener(type, (event) => chat === this.#chat && listener(event.detail));
    }
    this.#draw();
    if (hasPointer()) this.composer.focus();
  }

  write() {
    this.composer.focus();
  }

  stop() {
    if (this.#chat?.running) this.#chat.stop();
  }

  #draw() {
    const chat = this.#chat;
    const loading = chat.state === "loading" ? t("loading") : "";
    this.note.textContent = chat.state === "failed" ? chat.problem.message : loading;
    this.note.hidden = !this.note.textContent;
    this.classList.toggle("loading", Boolean(loading));
    this.past.show(chat.fold.shown);
    this.#showFuture();
    this.#showQueue();
    if (loading) return;
    this.#scrollToEnd();
    this.#scrolled();
  }

  #showFuture() {
    this.recall.chat = this.#chat;
    this.future.chat = this.#chat;
    this.#showEmpty();
  }

  #showQueue() {
    this.queue.show(this.#chat);
    this.header.show(this.#chat);
    this.#showEmpty();
  }

  #showEmpty() {
    const chat = this.#chat;
    const unknown = chat.state === "loading" || chat.state === "failed";
    const coming = chat.ghosts.length + (chat.bannerRecall ? 1 : 0);
    this.notify.coming = coming > 0;
    const count = chat.fold.entries.length + coming + this.queue.children.length;
    this.empty.hidden = unknown || count > 0;
  }

  #entryChanged({ entry, event }) {
    const isNew = event?.type === "stream_start" || (event?.type === "message" && !event.undelivered);
    if (isNew) this.#add(entry);
    if (event?.type === "stream_end") {
      this.header.show(this.#chat);
      if (entry.text) this.announcer.textContent = `${t("segue")}: ${entry.text.slice(0, 400)}`;
    }
    if (event?.type === "waiting") this.#announceQuestion(event);
    const grown = !event || event.type.endsWith("_delta");
    this.#changed.set(entry, grown && this.#changed.get(entry) !== false);
    this.flush();
  }

  #announceQuestion({ question, choices }) {
    const words = choices.length ? `${question} ${listed(choices)}` : question;
    this.announcer.append(` ${t("asks", { question: words.slice(0, 400) })}`);
  }

  /** Adds an entry. A turn that was a ghost moves from the ghost's position to its own. */
  #add(entry) {
    this.#showQueue();
    const from = entry.source && this.future.positionOf(entry.source);
    if (entry.source) this.future.removeGhost(entry.source);
    this.past.show(this.#chat.fold.shown);
    this.#showEmpty();
    if (entry.replaces) this.reveal(entry, "nearest");
    else if (this.#atEnd) this.#scrollToEnd();
    const head = this.past.elementOf(entry)?.head;
    if (!from || !head || prefersReducedMotion()) return;
    const offset = from.top - head.getBoundingClientRect().top;
    head.animate(
      [
        { transform: `translateY(${offset}px)`, opacity: 0.55 },
        { transform: "none", opacity: 1 },
      ],
      { duration: MOVE_MS, easing: "cubic-bezier(.2,.7,.2,1)" },
    );
  }

  #flush() {
    for (const [entry, grown] of this.#changed) this.past.update(entry, grown);
    this.#changed.clear();
  }

  async #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.jump.hidden = this.#atEnd;
    if (scrollTop < clientHeight && this.#chat?.hasOlder) await this.#loadOlder();
  }

  /** Loads older entries above; what is on the screen stays where it is. */
  async #loadOlder() {
    const chat = this.#chat;
    const added = await chat.older().catch(() => []);
    if (!added.length || chat !== this.#chat) return;
    const { scrollHeight, scrollTop } = this.scroller;
    this.past.show(chat.fold.shown);
    this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - scrollHeight;
    this.#scrolled();
  }

  /** Draws what was loaded, and scrolls to an entry. Returns its element. */
  reveal(entry, block = "center") {
    this.#atEnd = false;
    this.past.show(this.#chat.fold.shown);
    const element = this.past.elementOf(entry);
    element.scrollIntoView({ block, behavior: "instant" });
    return element;
  }

  #scrollToEnd(smooth = false) {
    this.#atEnd = true;
    this.jump.hidden = true;
    this.scroller.scrollTo({
      top: this.scroller.scrollHeight,
      behavior: smooth && !prefersReducedMotion() ? "smooth" : "instant",
    });
  }

  /** Shows a lost connection, unless it is back within 700 ms; not the first one, which takes its time. */
  #showConnection() {
    clearTimeout(this.#reconnectingTimer);
    const show = (words) => {
      this.line.textContent = words;
      this.classList.toggle("away", Boolean(words));
    };
    if (live.state !== "closed") return show("");
    this.#reconnectingTimer = setTimeout(() => show(t("reconnecting")), 700);
  }
}

customElements.define("segue-talk", Talk);
