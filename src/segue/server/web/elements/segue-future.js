// Upcoming entries (ghosts) below the last message. When one is due, its turn takes its place.

import { arrange, h, Part, prefersReducedMotion, t } from "../lib/dom.js";
import { isRuledOut } from "../lib/future.js";
import "./segue-ghost.js";

const SHOWN_AT_FIRST = 4;

class Future extends Part {
  #chat = null;
  #ghosts = new Map();
  #all = false;

  build() {
    this.list = h("div.ghosts", { role: "list", "aria-label": t("coming_up") });
    this.more = h("button.quiet.more", { onclick: () => this.#showAll() });
    this.append(h("div.later", h("span", t("later"))), this.list, this.more);
    this.hidden = true;
  }

  set chat(chat) {
    this.#chat = chat;
    const upcoming = chat.ghosts;
    const all = this.#all || upcoming.length <= SHOWN_AT_FIRST + 1;
    const shown = all ? upcoming : upcoming.slice(0, SHOWN_AT_FIRST);
    const elements = shown.map((ghost) => this.#element(ghost, chat));
    const names = new Set(shown.map(nameOf));
    for (const name of this.#ghosts.keys()) {
      if (!names.has(name)) this.#ghosts.delete(name);
    }
    const leaving = this.#leaving(elements, chat);
    arrange(this.list, [...elements, ...leaving].sort((one, other) => one.ghost.at - other.ghost.at));
    this.more.hidden = shown.length === upcoming.length;
    this.more.textContent = t("more_coming", { count: upcoming.length - shown.length });
    this.hidden = !upcoming.length && !leaving.length;
  }

  /** Ghosts that an answer has ruled out fade, without a word. */
  #leaving(elements, chat) {
    if (prefersReducedMotion()) return [];
    const out = new Set(chat.jobs?.filter(isRuledOut).map(({ id }) => id));
    const leaving = [...this.list.children].filter((each) => !elements.includes(each) && out.has(each.ghost.id));
    for (const element of leaving) element.fading ??= fadeOut(element).then(() => this.#remove(element));
    return leaving;
  }

  #remove(element) {
    element.remove();
    this.hidden = !this.list.children.length;
  }

  /** The position of a job's ghost, from which its turn is moved; null if it has none. */
  positionOf(source) {
    const element = [...this.#ghosts.values()].find((each) => each.ghost.id === source.job_id);
    return element?.isConnected ? element.getBoundingClientRect() : null;
  }

  removeGhost(source) {
    for (const [name, element] of this.#ghosts) {
      if (element.ghost.id !== source.job_id) continue;
      this.#remove(element);
      this.#ghosts.delete(name);
    }
  }

  #element(ghost, chat) {
    const name = nameOf(ghost);
    let element = this.#ghosts.get(name);
    if (!element) {
      element = h("segue-ghost");
      this.#ghosts.set(name, element);
      if (this.isConnected && !prefersReducedMotion()) requestAnimationFrame(() => fadeIn(element));
    }
    element.show(ghost, chat);
    return element;
  }

  #showAll() {
    this.#all = true;
    this.chat = this.#chat;
    this.list.lastElementChild?.scrollIntoView({ block: "nearest" });
  }
}

const nameOf = (ghost) => `${ghost.kind} ${ghost.id}`;

function fadeIn(element) {
  element.animate(
    [
      { opacity: 0, transform: "translateY(6px)" },
      { opacity: 1, transform: "none" },
    ],
    { duration: 180, easing: "ease-out" },
  );
}

const fadeOut = (element) => element.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 180 }).finished;

customElements.define("segue-future", Future);
