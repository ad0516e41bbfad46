// The frame: the list of conversations, the open one, and its panel. Handles the page's own events.

import { Chat } from "../lib/chat.js";
import { h, Part, t } from "../lib/dom.js";
import { currentKey, go, isNewKey, newKey } from "../lib/route.js";
import { keys } from "../lib/keys.js";
import { live } from "../lib/connection.js";
import { sessions } from "../lib/sessions.js";
import "./segue-sidebar.js";
import "./segue-talk.js";
import "./segue-toasts.js";

const LAST = "segue.last";
const PANEL = "segue.panel";
const WIDE = matchMedia("(min-width: 1180px)");
/** Calls a method of an element whose class may still be loading. */
const callWhenDefined = (element, method, argument) =>
  customElements.whenDefined(element.localName).then(() => element[method](argument));
/** A browser requests a module only once. If that failed, reload the page when the connection is back. */
const loadLater = () =>
  import("../later.js").catch(() => live.addEventListener("back", () => location.reload()));
const wantsPanel = () => WIDE.matches && localStorage.getItem(PANEL) !== "closed";

class App extends Part {
  #chat = null;

  build() {
    this.sidebar = h("segue-sidebar", { id: "sidebar" });
    this.talk = h("segue-talk");
    this.panel = h("segue-panel", { id: "panel" });
    this.veil = h("div.veil", { onclick: () => this.#closeSheets(), "aria-hidden": "true" });
    this.palette = h("segue-palette");
    this.search = h("segue-search");
    this.deleting = h("segue-delete");
    this.settings = h("segue-settings");
    const skip = h("button.skip", { onclick: () => this.talk.write() }, t("skip_to_composer"));
    this.append(
      skip,
      this.sidebar,
      h("main", this.talk),
      this.panel,
      this.veil,
      h("segue-toasts"),
      this.palette,
      this.search,
      this.deleting,
      this.settings,
    );
    this.#showPanel(wantsPanel());
  }

  enter() {
    this.on(window, "hashchange", () => this.#open());
    this.on(this, "segue-new", () => go(newKey()));
    this.on(this, "segue-menu", () => {
      const opened = this.classList.toggle("menu-open");
      if (opened) this.sidebar.querySelector("button").focus();
    });
    this.on(this, "segue-panel", ({ detail }) => {
      const open = detail ?? !this.classList.contains("panel-open");
      this.#showPanel(open, true);
    });
    this.on(this, "segue-delete", ({ detail }) => callWhenDefined(this.deleting, "ask", detail));
    this.on(this, "segue-settings", ({ detail }) =>
      callWhenDefined(this.settings, "ask", { chat: this.#chat, section: detail ?? undefined }),
    );
    this.on(this, "segue-find", () => callWhenDefined(this.palette, "ask", this.#chat));
    this.on(this, "segue-search", ({ detail }) => callWhenDefined(this.search, "ask", detail));
    this.on(this, "segue-found", ({ detail }) => this.#reveal(detail));
    this.on(this, "segue-why", ({ detail }) => {
      this.#showPanel(true);
      callWhenDefined(this.panel, "explain", detail);
    });
    this.on(this, "segue-edit", ({ detail }) => {
      this.#showPanel(true);
      callWhenDefined(this.panel, "edit", detail);
    });
    this.on(sessions, "gone", ({ detail }) => detail === currentKey() && go(null));
    this.on(WIDE, "change", () => this.#showPanel(wantsPanel()));
    this.on(document, "visibilitychange", () => this.#markRead());
    this.on(sessions, "change", () => this.#markRead());
    this.on(
      live,
      "state",
      () => live.state === "open" && this.#chat?.state === "failed" && this.#chat.open(),
    );
    keys(this, this.lifetime.signal);
    live.start();
    sessions.start();
    this.#open();
  }

  #open() {
    const key = currentKey() ?? ((!this.#chat && localStorage.getItem(LAST)) || newKey());
    if (!currentKey()) history.replaceState(null, "", `#${encodeURIComponent(key)}`);
    if (this.#chat?.key === key) return;
    this.#chat?.close();
    this.#chat = new Chat(key);
    // A conversation that never began is not opened again on the next visit.
    if (!isNewKey(key)) localStorage.setItem(LAST, key);
    this.classList.remove("menu-open");
    this.sidebar.current = key;
    this.talk.chat = this.#chat;
    this.panel.chat = this.#chat;
    this.#chat.addEventListener("opened", loadLater);
    this.#chat.addEventListener("opened", () => this.#markRead());
    this.#chat.addEventListener("session", () => localStorage.setItem(LAST, key), { once: true });
    this.#chat.open();
  }

  /** Opens the conversation of a message that was found, and shows the message. */
  async #reveal(message) {
    const { reveal } = await import("../later.js");
    go(message.session_key);
    this.#open();
    reveal(this.talk, this.#chat, message);
  }

  #markRead() {
    if (this.#chat?.state === "open" && !document.hidden) sessions.markRead(this.#chat.key);
  }

  #showPanel(open, chosen = false) {
    this.classList.toggle("panel-open", open);
    this.panel.opened = open;
    if (!chosen) return;
    if (WIDE.matches) localStorage.setItem(PANEL, open ? "open" : "closed");
    if (open) this.panel.querySelector("button")?.focus({ preventScroll: true });
  }

  /** On a small screen, closes the sheets over the conversation. Returns whether one was open. */
  #closeSheets() {
    const open =
      this.classList.contains("menu-open") || (!WIDE.matches && this.classList.contains("panel-open"));
    this.classList.remove("menu-open");
    if (!WIDE.matches) this.#showPanel(false);
    return open;
  }

  escape() {
    if (!this.#closeSheets()) this.talk.stop();
  }
}

customElements.define("segue-app", App);
