// The conversation's future, below its last word. When a moment comes, its ghost gives its place to the turn.

import { arrange, calm, h, Part, t } from "../lib/dom.js";
import "./segue-ghost.js";

const SHOWN = 4;

class Future extends Part {
  #chat = null;
  #ghosts = new Map();
  #all = false;

  build() {
    this.list = h("div.ghosts", { role: "list", "aria-label": t("coming_up") });
    this.more = h("button.quiet.more", { onclick: () => this.#unfold() });
    this.append(h("div.later", h("span", t("later"))), this.list, this.more);
    this.hidden = true;
  }

  set chat(chat) {
    this.#chat = chat;
    const coming = chat.ghosts;
    const shown = this.#all || coming.length <= SHOWN + 1 ? coming : coming.slice(0, SHOWN);
    const wanted = shown.map((ghost) => this.#ghost(ghost, chat));
    const names = new Set(shown.map(nameOf));
    for (const name of this.#ghosts.keys()) if (!names.has(name)) this.#ghosts.delete(name);
    arrange(this.list, wanted);
    this.more.hidden = shown.length === coming.length;
    this.more.textContent = t("more_coming", { count: coming.length - shown.length });
    this.hidden = !coming.length;
  }

  /** Where the ghost of a job stands now that its turn begins. Null if it has none. */
  placeOf(source) {
    const ghost = [...this.#ghosts.values()].find((each) => each.ghost.id === source.job_id);
    return ghost?.isConnected ? ghost.getBoundingClientRect() : null;
  }

  give(source) {
    for (const [name, ghost] of this.#ghosts) {
      if (ghost.ghost.id !== source.job_id) continue;
      ghost.remove();
      this.#ghosts.delete(name);
    }
    this.hidden = !this.list.children.length;
  }

  #ghost(ghost, chat) {
    const name = nameOf(ghost);
    let shown = this.#ghosts.get(name);
    if (!shown) {
      this.#ghosts.set(name, (shown = h("segue-ghost")));
      if (this.isConnected && !calm()) requestAnimationFrame(() => appear(shown));
    }
    shown.show(ghost, chat);
    return shown;
  }

  #unfold() {
    this.#all = true;
    this.chat = this.#chat;
    this.list.lastElementChild?.scrollIntoView({ block: "nearest" });
  }
}

const nameOf = (ghost) => `${ghost.kind} ${ghost.id}`;

function appear(element) {
  element.animate([{ opacity: 0, transform: "translateY(6px)" }, { opacity: 1, transform: "none" }], { duration: 180, easing: "ease-out" });
}

customElements.define("segue-future", Future);
