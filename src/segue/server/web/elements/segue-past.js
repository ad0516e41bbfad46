// The past: turns and messages in the order of the log, with a separator where a day begins.

import { arrange, h, Part, setText, t } from "../lib/dom.js";
import { copyFrom } from "../lib/row.js";
import { formatDate, formatDay, sameDay } from "../lib/times.js";
import "./segue-note.js";
import "./segue-turn.js";

class Past extends Part {
  #shown = new Map();
  #days = new Map();

  build() {
    this.setAttribute("role", "list");
    this.setAttribute("aria-label", t("conversation"));
  }

  enter() {
    this.on(this, "click", ({ target }) => {
      const button = target.closest(".copy-code");
      if (button) copyFrom(button, button.closest(".code").querySelector("code").textContent);
    });
  }

  clear() {
    this.#shown.clear();
    this.#days.clear();
    this.replaceChildren();
  }

  elementOf(entry) {
    return this.#shown.get(entry.id);
  }

  /** Shows what is `shown` of a fold. Elements that exist are not redrawn. */
  show(shown) {
    const wanted = [];
    let before = null;
    let cuts = [...(this.chat?.archives ?? [])].reverse();
    for (const { entry, seq, ...place } of shown) {
      const at = new Date(place.at);
      const passed = cuts.filter((archive) => archive.last_seq < seq);
      if (passed.length && before) wanted.push(this.#cut(passed.at(-1)));
      cuts = cuts.slice(passed.length);
      if (!before || !sameDay(before, at)) wanted.push(this.#day(at));
      before = at;
      wanted.push(this.#shown.get(entry.id) ?? this.#make(entry));
    }
    if (cuts.length && before) wanted.push(this.#cut(cuts.at(-1)));
    arrange(this, wanted);
  }

  /** Redraws an entry; `grown` if only its text got longer. */
  update(entry, grown) {
    const shown = this.#shown.get(entry.id);
    if (grown) shown?.grow(entry);
    else shown?.show(entry);
  }

  #make(entry) {
    const element = h(entry.kind === "turn" ? "segue-turn" : "segue-note");
    element.chat = this.chat;
    this.#shown.set(entry.id, element);
    element.show(entry);
    return element;
  }

  /** The mark after the last message that was archived. */
  #cut({ n, created_at: at, state }) {
    const name = `archive ${n} ${state}`;
    if (!this.#days.has(name)) {
      const words = t(state === "failed" ? "cut_failed" : "cut", { time: formatDate(new Date(at)) });
      this.#days.set(name, h("div.day.cut", { role: "listitem" }, h("span", words)));
    }
    return this.#days.get(name);
  }

  #day(at) {
    const name = at.toDateString();
    if (!this.#days.has(name)) {
      this.#days.set(name, h("div.day", { role: "listitem" }, h("span")));
    }
    const day = this.#days.get(name);
    // After midnight, today is yesterday.
    setText(day.firstChild, formatDay(at));
    return day;
  }
}

customElements.define("segue-past", Past);
