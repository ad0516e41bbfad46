// What was said: turns and messages in the order of the log, with a line where a day begins.

import { arrange, h, Part, t } from "../lib/dom.js";
import { day, sameDay } from "../lib/times.js";
import "./segue-note.js";
import "./segue-turn.js";

class Past extends Part {
  #shown = new Map();
  #days = new Map();

  build() {
    this.setAttribute("role", "list");
    this.setAttribute("aria-label", t("conversation"));
  }

  clear() {
    this.#shown.clear();
    this.#days.clear();
    this.replaceChildren();
  }

  of(entry) {
    return this.#shown.get(entry.id);
  }

  /** All entries, in their order. Those that are shown already are left as they are. */
  show(entries) {
    const wanted = [];
    let before = null;
    for (const entry of entries) {
      const at = new Date(entry.at);
      if (!before || !sameDay(before, at)) wanted.push(this.#day(at));
      before = at;
      wanted.push(this.#shown.get(entry.id) ?? this.#make(entry));
    }
    arrange(this, wanted);
  }

  /** `grown`: only its words have. */
  update(entry, grown) {
    const shown = this.#shown.get(entry.id);
    if (grown) shown?.grow(entry);
    else shown?.show(entry);
  }

  #make(entry) {
    const made = h(entry.kind === "turn" ? "segue-turn" : "segue-note");
    this.#shown.set(entry.id, made);
    made.show(entry);
    return made;
  }

  #day(at) {
    const name = at.toDateString();
    if (!this.#days.has(name)) this.#days.set(name, h("div.day", { role: "listitem" }, h("span", day(at))));
    return this.#days.get(name);
  }
}

customElements.define("segue-past", Past);
