// Preview of the time in a message, as the server will read it, before the message is sent.

import { get } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { formatDate, formatDates, formatDistance, zone } from "../lib/times.js";

const PAUSE_MS = 160;
/** Digits and words that suggest a time; without one the server is not asked. */
const CUES =
  /\d|\b(remind|recall|schedule|every|daily|weekly|monthly|tomorrow|tonight|noon|midnight|later|wake|in (?:an?|half)|on (?:mon|tue|wed|thu|fri|sat|sun)|next)|[提叫]醒|每|明天|后天|点|分钟|小时|下周|erinner|morgen|heute|jeden|täglich|werktags|rappelle|demain|chaque|recu[eé]rda|mañana|cada|напомни|завтра|кажд/i;

const TODAY = /^(?:today|heute|今天)\s*/i;

class Hint extends Part {
  #request = 0;
  #timer = 0;

  build() {
    this.setAttribute("role", "status");
    this.hidden = true;
  }

  /** `isTime`: the whole text is meant as a time. `days`: the day set that working days mean, if any. */
  set written({ text, timezone, days, isTime = false }) {
    clearTimeout(this.#timer);
    this.#request += 1;
    if (!text.trim() || (!isTime && !CUES.test(text))) return this.#clear();
    this.#timer = setTimeout(
      () => this.#ask({ text: text.slice(0, 600), timezone, ...(days && { days }) }, this.#request),
      PAUSE_MS,
    );
  }

  #clear() {
    this.hidden = true;
    this.replaceChildren();
  }

  async #ask(query, request) {
    const nothing = { when: null, unread: "" };
    const reading = await get(`when?${new URLSearchParams(query)}`).catch(() => nothing);
    if (request !== this.#request) return;
    if (reading.when) return this.#show(reading.when);
    if (reading.unread) return this.#refuse(reading);
    this.#clear();
  }

  /** Shows a time that could not be read or is ambiguous. */
  #refuse({ verdict, readings, unread }) {
    const reason =
      verdict === "ambiguous" ? t("ambiguous", { readings: readings.join(" · ") }) : t("not_read");
    this.classList.add("refused");
    this.replaceChildren(
      icon("clock"),
      h("span.phrase", unread),
      h("span.arrow", { "aria-hidden": "true" }, "→"),
      h("strong", reason),
    );
    this.hidden = false;
  }

  #show({ phrase, repeats, next, passed }) {
    const first = new Date(next[0]);
    const left = passed ? t("passed") : t("in", { time: formatDistance(first - Date.now()) });
    this.classList.toggle("passed", passed);
    this.classList.remove("refused");
    const times = formatDates(next.slice(1).map((at) => new Date(at)), first);
    const more = repeats && times.length ? t("then", { times: times.join(", ") }) : "";
    this.replaceChildren(
      icon("clock"),
      h("span.phrase", phrase),
      h("span.arrow", { "aria-hidden": "true" }, "→"),
      h("strong", `${formatDate(first)} ${zone}`),
      h("span.left", `(${left})`),
      ...(more ? [h("span.then", more)] : []),
      ...(passed ? [this.#tomorrowButton(phrase)] : []),
    );
    this.hidden = false;
  }

  /** Offers the same time tomorrow for a time of today that has passed. */
  #tomorrowButton(phrase) {
    const words = `${t("tomorrow")} ${phrase.replace(TODAY, "")}`;
    const replace = () => this.emit("segue-replace", { phrase, words });
    return h("button.quiet", { onclick: replace }, icon("undo"), t("use_tomorrow"));
  }
}

customElements.define("segue-hint", Hint);
