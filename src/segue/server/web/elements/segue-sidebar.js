// The list of conversations, with a search and a filter for pending recalls.

import { remove } from "../lib/api.js";
import { arrange, h, icon, oncePerFrame, Part, t } from "../lib/dom.js";
import { notifications } from "../lib/notifications.js";
import { sessions } from "../lib/sessions.js";
import "./segue-session.js";

const FIND_KEYS = /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K";
/** New rows per frame: creating a long list at once would block typing. */
const ROWS_PER_FRAME = 40;

class Sidebar extends Part {
  #current = null;
  #items = new Map();

  build() {
    this.search = h("input", {
      type: "search",
      placeholder: t("search"),
      "aria-label": t("search"),
      oninput: () => this.draw(),
    });
    this.pending = h(
      "button.filter",
      { "aria-pressed": "false", onclick: () => this.#toggleFilter() },
      icon("clock"),
      t("only_pending"),
    );
    this.list = h("ul.sessions", { "aria-label": t("chats") });
    this.note = h("p.note", { role: "status" });
    const keys = h("kbd", { "aria-hidden": "true" }, FIND_KEYS);
    const search = h("div.search", icon("search"), this.search, keys);
    this.search.addEventListener("keydown", ({ key, isComposing }) => {
      if (key === "Enter" && !isComposing) this.#searchMessages();
    });
    this.deeper = h("button.filter", { hidden: true, onclick: () => this.#searchMessages() });
    const newChat = h(
      "button.icon-button",
      { "aria-label": t("new_chat"), title: `${t("new_chat")} (n)`, onclick: () => this.emit("segue-new") },
      icon("plus"),
    );
    this.append(
      h(
        "nav",
        { "aria-label": t("chats") },
        h("div.top", h("div.brand", h("span.sign", { "aria-hidden": "true" }), "Segue"), newChat),
        search,
        this.deeper,
        this.pending,
        this.note,
        this.list,
        h(
          "div.own",
          h("button.leave", { onclick: () => this.emit("segue-settings") }, icon("settings"), t("settings")),
          this.#logOutButton(),
        ),
      ),
    );
  }

  enter() {
    this.draw = oncePerFrame(() => this.#draw());
    this.on(sessions, "change", this.draw);
    this.#draw();
  }

  set current(key) {
    this.#current = key;
    this.draw?.();
  }

  #draw() {
    const words = this.search.value.trim().toLowerCase();
    this.deeper.hidden = !words;
    this.deeper.replaceChildren(icon("search"), t("search_for", { words: this.search.value.trim() }));
    const only = this.pending.getAttribute("aria-pressed") === "true";
    const shown = sessions.all.filter((session) => (!only || isPending(session)) && matches(session, words));
    let created = 0;
    const drawn = shown.filter(({ key }) => {
      if (this.#items.has(key)) return true;
      created += 1;
      return created <= ROWS_PER_FRAME;
    });
    const items = drawn.map((session) => this.#item(session));
    arrange(this.list, items);
    if (drawn.length < shown.length) this.draw();
    this.note.textContent = shown.length ? "" : this.#emptyNote(words, only);
    for (const key of this.#items.keys()) {
      if (!sessions.get(key)) this.#items.delete(key);
    }
  }

  #item(session) {
    let item = this.#items.get(session.key);
    if (!item) {
      item = h("li", h("segue-session"));
      this.#items.set(session.key, item);
    }
    item.firstChild.show(session, {
      unread: sessions.unreadIn(session),
      current: session.key === this.#current,
      owner: sessions.otherOwner(session),
    });
    return item;
  }

  #emptyNote(words, only) {
    if (sessions.state === "loading") return t("loading");
    if (sessions.state === "failed") return t("unreachable");
    return words || only ? t("nothing_found") : t("no_chats");
  }

  #searchMessages() {
    this.emit("segue-search", this.search.value.trim());
  }

  #toggleFilter() {
    const on = this.pending.getAttribute("aria-pressed") !== "true";
    this.pending.setAttribute("aria-pressed", String(on));
    this.#draw();
  }

  #logOutButton() {
    if (!localStorage.getItem("segue.logged-in")) return null;
    const logOut = async () => {
      // The next user of this device must not be told of this one's news.
      await notifications.disable().catch(() => {});
      await remove("auth/session").catch(() => {});
      localStorage.removeItem("segue.logged-in");
      location.reload();
    };
    return h("button.leave", { onclick: logOut }, icon("leave"), t("log_out"));
  }
}

/** Something will happen in it: a recall, a job or a message. */
const isPending = (session) => Boolean(session.upcoming || session.recall);

const matches = (session, words) =>
  !words || `${session.title ?? ""} ${session.last_line ?? ""} ${session.key}`.toLowerCase().includes(words);

customElements.define("segue-sidebar", Sidebar);
