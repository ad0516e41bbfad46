// The frame: conversations on the left, the one that is open, and what belongs to it on the right.

import { Chat } from "../lib/chat.js";
import { h, Part, t } from "../lib/dom.js";
import { go, here, newKey } from "../lib/here.js";
import { keys } from "../lib/keys.js";
import { live } from "../lib/live.js";
import { sessions } from "../lib/sessions.js";
import "./segue-sidebar.js";
import "./segue-talk.js";
import "./segue-toasts.js";

const LAST = "segue.last";
const PANEL = "segue.panel";
const WIDE = matchMedia("(min-width: 1180px)");
/** Of an element that may still be on its way. */
const ask = (element, act, about) => customElements.whenDefined(element.localName).then(() => element[act](about));
/** A browser asks once for a script. If that failed, the page begins anew when it can. */
const later = () => import("../later.js").catch(() => live.addEventListener("back", () => location.reload()));
const wantsPanel = () => WIDE.matches && localStorage.getItem(PANEL) !== "closed";

class App extends Part {
  #chat = null;

  build() {
    this.sidebar = h("segue-sidebar", { id: "sidebar" });
    this.talk = h("segue-talk");
    this.panel = h("segue-panel", { id: "panel" });
    this.veil = h("div.veil", { onclick: () => this.#close(), "aria-hidden": "true" });
    this.palette = h("segue-palette");
    this.deleting = h("segue-delete");
    const skip = h("button.skip", { onclick: () => this.talk.write() }, t("skip_to_composer"));
    this.append(skip, this.sidebar, h("main", this.talk), this.panel, this.veil, h("segue-toasts"), this.palette, this.deleting);
    this.#showPanel(wantsPanel());
  }

  enter() {
    this.on(window, "hashchange", () => this.#open());
    this.on(this, "segue-new", () => go(newKey()));
    this.on(this, "segue-menu", () => this.classList.toggle("menu-open") && this.sidebar.querySelector("button").focus());
    this.on(this, "segue-panel", ({ detail }) => this.#showPanel(detail ?? !this.classList.contains("panel-open"), true));
    this.on(this, "segue-delete", ({ detail }) => ask(this.deleting, "ask", detail));
    this.on(this, "segue-find", () => ask(this.palette, "ask", this.#chat));
    this.on(this, "segue-why", ({ detail }) => {
      this.#showPanel(true);
      ask(this.panel, "explain", detail);
    });
    this.on(sessions, "gone", ({ detail }) => detail === here() && go(null));
    this.on(WIDE, "change", () => this.#showPanel(wantsPanel()));
    this.on(document, "visibilitychange", () => this.#see());
    this.on(sessions, "change", () => this.#see());
    this.on(live, "state", () => live.state === "open" && this.#chat?.state === "failed" && this.#chat.open());
    keys(this, this.leaving.signal);
    live.start();
    sessions.start();
    this.#open();
  }

  #open() {
    const key = here() ?? ((!this.#chat && localStorage.getItem(LAST)) || newKey());
    if (!here()) history.replaceState(null, "", `#${encodeURIComponent(key)}`);
    if (this.#chat?.key === key) return;
    this.#chat?.close();
    this.#chat = new Chat(key);
    localStorage.setItem(LAST, key);
    this.classList.remove("menu-open");
    this.sidebar.current = key;
    this.talk.chat = this.#chat;
    this.panel.chat = this.#chat;
    const chat = this.#chat;
    // A conversation that has not begun has nothing at its side.
    const begin = () => chat === this.#chat && this.classList.toggle("fresh", chat.state === "new");
    for (const type of ["opened", "session"]) chat.addEventListener(type, begin);
    chat.addEventListener("opened", later);
    chat.open();
    this.#see();
  }

  #see() {
    if (this.#chat && !document.hidden) sessions.see(this.#chat.key);
  }

  #showPanel(open, chosen = false) {
    this.classList.toggle("panel-open", open);
    this.panel.inert = !open;
    if (!chosen) return;
    if (WIDE.matches) localStorage.setItem(PANEL, open ? "open" : "closed");
    if (open) this.panel.querySelector("button")?.focus({ preventScroll: true });
  }

  /** What lies over the conversation on a small screen goes away. True when there was something. */
  #close() {
    const open = this.classList.contains("menu-open") || (!WIDE.matches && this.classList.contains("panel-open"));
    this.classList.remove("menu-open");
    if (!WIDE.matches) this.#showPanel(false);
    return open;
  }

  escape() {
    if (!this.#close()) this.talk.stop();
  }
}

customElements.define("segue-app", App);
