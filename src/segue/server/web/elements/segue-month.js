// Thirty days as a row of bars. The mouse, or the arrow keys, choose a day, and its numbers are shown.

import { h, Part, setText } from "../lib/dom.js";

class Month extends Part {
  build() {
    this.bars = h("div.bars", { tabindex: "0", role: "slider", "aria-valuemin": "1" });
    this.reading = h("p.reading", { "aria-hidden": "true" });
    this.append(this.bars, this.reading);
  }

  enter() {
    this.on(this.bars, "pointermove", ({ target }) => this.#choose([...this.bars.children].indexOf(target)));
    this.on(this.bars, "pointerleave", () => this.#choose(-1));
    this.on(this.bars, "focus", () => this.#choose(this.start));
    this.on(this.bars, "blur", () => this.#choose(-1));
    this.on(this.bars, "keydown", (event) => this.#press(event));
  }

  /** `days`: `{ level (0 to 1), state, words }` each; `start`: the day that is chosen first. */
  show(label, days, start, summary) {
    this.start = start;
    this.summary = summary;
    if (!this.differs(label, days, summary)) return;
    this.days = days;
    this.bars.setAttribute("aria-label", label);
    this.bars.setAttribute("aria-valuemax", String(days.length));
    this.bars.replaceChildren(...days.map((day) => this.#bar(day)));
    this.#choose(-1);
  }

  #bar({ level, state }) {
    const bar = h(`span.bar${state ? `.${state}` : ""}`);
    bar.style.setProperty("--level", String(level));
    return bar;
  }

  #choose(index) {
    this.chosen = index;
    const at = index < 0 ? this.start : index;
    [...this.bars.children].forEach((bar, each) => bar.classList.toggle("chosen", each === index));
    this.bars.setAttribute("aria-valuenow", String(at + 1));
    this.bars.setAttribute("aria-valuetext", this.days?.[at]?.words ?? "");
    setText(this.reading, this.days?.[index]?.words ?? this.summary ?? "");
  }

  #press(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const from = this.chosen < 0 ? this.start : this.chosen;
    this.#choose(Math.max(0, Math.min(this.days.length - 1, from + by)));
  }
}

customElements.define("segue-month", Month);
