// Search over the messages of all conversations: a dialog with what was found, newest first.

import { get } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { formatDay } from "../lib/times.js";

const PAUSE_MS = 200;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

class Search extends Part {
  #timer = 0;
  #asked = 0;

  build() {
    this.field = h("input", {
      type: "search",
      "aria-label": t("search_messages"),
      placeholder: t("search_messages"),
      autocomplete: "off",
      maxlength: "1000",
    });
    this.note = h("p.note", { role: "status" });
    this.list = h("ul", { "aria-label": t("found_messages") });
    this.more = h("button.quiet", { hidden: true, onclick: () => this.#search(this.cursor) }, t("show_more"));
    this.dialog = h(
      "dialog.palette.search-messages",
      { "aria-label": t("search_messages") },
      ...[this.field, this.note, this.list, this.more],
    );
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("keydown", (event) => this.#press(event));
    this.field.addEventListener("input", () => this.#typed());
    this.append(this.dialog);
  }

  ask(words) {
    this.field.value = words;
    if (!this.dialog.open) this.dialog.showModal();
    this.field.focus();
    this.field.select();
    this.#search();
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), PAUSE_MS);
  }

  /** Only the answer to the last question is shown. */
  async #search(cursor = null) {
    clearTimeout(this.#timer);
    const asked = (this.#asked += 1);
    const query = this.field.value.trim();
    const hint = hintFor(query);
    if (hint) return this.#show([], { note: hint });
    const from = cursor ? `&cursor=${cursor}` : "";
    try {
      const found = await get(`messages/search?limit=20&query=${encodeURIComponent(query)}${from}`);
      if (asked !== this.#asked) return;
      const before = cursor ? [...this.list.children] : [];
      const items = [...before, ...found.messages.map((message) => this.#item(message, query))];
      const note = items.length ? t("found", { count: items.length }) : t("no_messages_found");
      this.#show(items, { note, cursor: found.next_cursor });
    } catch (problem) {
      if (asked !== this.#asked) return;
      this.#show([], { note: problem.status === 422 ? t("search_word_needed") : problem.message });
    }
  }

  #show(items, { note, cursor = null }) {
    this.cursor = cursor;
    this.more.hidden = !cursor;
    this.note.textContent = note;
    this.list.replaceChildren(...items);
  }

  #item(message, query) {
    const who = message.role === "user" ? t("you") : t("segue");
    const button = h(
      "button",
      { onclick: () => this.#open(message) },
      h(
        "span.where",
        h("strong", message.session_title || t("untitled")),
        h("span", `${who}, ${formatDay(new Date(message.created_at))}`),
        message.replaced_by && h("span", t("earlier_version")),
      ),
      h("span.excerpt", { dir: "auto" }, ...marked(message.excerpt, query)),
    );
    return h("li", button);
  }

  #open(message) {
    this.dialog.close();
    this.emit("segue-found", message);
  }

  #press(event) {
    if (event.isComposing) return;
    const buttons = [...this.list.querySelectorAll("button")];
    const index = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && event.target === this.field) buttons[0]?.click();
    else if (event.key === "ArrowDown") (buttons[index + 1] ?? buttons.at(-1))?.focus();
    else if (event.key === "ArrowUp") (buttons[index - 1] ?? this.field).focus();
    else return;
    event.preventDefault();
  }
}

/** What to write instead of a query that cannot find anything useful. */
function hintFor(query) {
  if (!query) return t("search_hint");
  return [...query].length === 1 && !CJK.test(query) ? t("search_too_short") : "";
}

/** The text in pieces, with the words of the query marked; in scripts without spaces, pairs of characters. */
function marked(text, query) {
  const words = query.split(/\s+/).flatMap((word) => [word, ...(CJK.test(word) ? pairs(word) : [])]);
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // A word is found at the beginning of others, not in their middle.
  const parts = escaped.map((word) => (CJK.test(word) ? word : `(?<![\\p{L}\\p{N}])${word}`));
  const pieces = text.split(new RegExp(`(${parts.join("|")})`, "giu"));
  return pieces.map((piece, index) => (index % 2 ? h("mark", piece) : piece));
}

const pairs = (word) => Array.from(word.slice(1), (_, index) => word.slice(index, index + 2));

customElements.define("segue-search", Search);
