// Command palette (Ctrl-K): finds a conversation or an action by typing.

import { h, icon, Part } from "../lib/dom.js";
import { go } from "../lib/route.js";
import { sessions } from "../lib/sessions.js";
import { changeLanguage, language, LANGUAGES, t } from "../lib/words.js";

const SHOWN = 12;

class Palette extends Part {
  #chosen = 0;
  #found = [];

  build() {
    this.field = h("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "found",
      "aria-autocomplete": "list",
      "aria-label": t("find"),
      placeholder: t("find"),
      autocomplete: "off",
    });
    this.list = h("ul", { id: "found", role: "listbox", "aria-label": t("find") });
    this.dialog = h("dialog.palette", { "aria-label": t("find") }, this.field, this.list);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.field.addEventListener("input", () => this.#search());
    this.field.addEventListener("keydown", (event) => this.#press(event));
    this.append(this.dialog);
  }

  ask(chat) {
    this.chat = chat;
    this.field.value = "";
    if (!this.dialog.open) this.dialog.showModal();
    this.field.focus();
    this.#search();
  }

  #search() {
    const words = this.field.value.trim().toLowerCase();
    const chats = sessions.all.map((session) => ({
      name: session.title || t("untitled"),
      icon: "chat",
      act: () => go(session.key),
    }));
    this.#found = [...this.#actions(), ...chats]
      .filter(({ name }) => name.toLowerCase().includes(words))
      .slice(0, SHOWN);
    this.#choose(0);
  }

  #actions() {
    const emit = (type, detail) => () => this.emit(type, detail);
    const session = this.chat?.session;
    return [
      { name: t("new_chat"), icon: "plus", act: emit("segue-new") },
      { name: t("search_messages"), icon: "search", act: emit("segue-search", this.field.value.trim()) },
      { name: t("settings"), icon: "settings", act: emit("segue-settings") },
      { name: t("show_panel"), icon: "panel", act: emit("segue-panel") },
      this.chat?.running && { name: t("stop"), icon: "stop", act: () => this.chat.stop() },
      session && { name: t("delete_chat"), icon: "trash", act: emit("segue-delete", session) },
      ...Object.entries(LANGUAGES)
        .filter(([code]) => code !== language)
        .map(([code, name]) => ({ name, icon: "edit", act: () => changeLanguage(code) })),
    ].filter(Boolean);
  }

  #choose(index) {
    this.#chosen = Math.max(0, Math.min(this.#found.length - 1, index));
    this.list.replaceChildren(...this.#found.map((each, position) => this.#option(each, position)));
    this.field.setAttribute("aria-activedescendant", this.#found.length ? `found-${this.#chosen}` : "");
    this.list.children[this.#chosen]?.scrollIntoView({ block: "nearest" });
  }

  #option(each, position) {
    const attributes = {
      id: `found-${position}`,
      role: "option",
      "aria-selected": String(position === this.#chosen),
      onclick: () => this.#run(position),
    };
    return h("li", attributes, icon(each.icon), each.name);
  }

  #press(event) {
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) this.#choose(this.#chosen + by);
    else if (event.key === "Enter") this.#run(this.#chosen);
    else return;
    event.preventDefault();
  }

  #run(index) {
    this.dialog.close();
    this.#found[index]?.act();
  }
}

customElements.define("segue-palette", Palette);
