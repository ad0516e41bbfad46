// A time that was written, as it will be understood, before it is sent.

import { get } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { date, distance, zone } from "../lib/times.js";

const PAUSE = 160;
/** Words of a time that is still to come. */
const CUES = /\b(remind|recall|schedule|every|daily|weekly|tomorrow|tonight|later|wake|at \d|in (?:a|an|\d|half)|on (?:mon|tue|wed|thu|fri|sat|sun)|next)\b|[提叫]醒|每|明天|后天|点|分钟|小时|下周|erinner|morgen|jeden|rappelle|demain|chaque|recu[eé]rda|mañana|cada|напомни|завтра|кажд/i;

class Hint extends Part {
  #asked = 0;
  #waiting = 0;

  build() {
    this.setAttribute("role", "status");
    this.hidden = true;
  }

  set written({ text, timezone }) {
    clearTimeout(this.#waiting);
    this.#asked += 1;
    if (!CUES.test(text)) return this.#clear();
    this.#waiting = setTimeout(() => this.#ask({ text: text.slice(0, 600), timezone }, this.#asked), PAUSE);
  }

  #clear() {
    this.hidden = true;
    this.replaceChildren();
  }

  async #ask(query, asked) {
    const found = await get(`when?${new URLSearchParams(query)}`).catch(() => ({ when: null, unread: "" }));
    if (asked !== this.#asked) return;
    if (found.when) return this.#show(found.when);
    if (found.unread) return this.#refuse(found);
    this.#clear();
  }

  /** What could not be read, or what it can mean: nothing is scheduled by it. */
  #refuse({ verdict, readings, unread }) {
    const said = verdict === "ambiguous" ? t("ambiguous", { readings: readings.join(" · ") }) : t("not_read");
    this.classList.add("refused");
    this.replaceChildren(icon("clock"), h("span.phrase", unread), h("span.arrow", { "aria-hidden": "true" }, "→"), h("strong", said));
    this.hidden = false;
  }

  #show({ phrase, repeats, next, passed }) {
    const first = new Date(next[0]);
    const left = passed ? t("passed") : t("in", { time: distance(first - Date.now()) });
    this.classList.toggle("passed", passed);
    this.classList.remove("refused");
    const more = repeats && next.length > 1 ? t("then", { times: next.slice(1).map((at) => date(new Date(at))).join(", ") }) : "";
    this.replaceChildren(icon("clock"), h("span.phrase", phrase), h("span.arrow", { "aria-hidden": "true" }, "→"), h("strong", `${date(first)} ${zone}`), h("span.left", `(${left})`), more && h("span.then", more));
    this.hidden = false;
  }
}

customElements.define("segue-hint", Hint);
