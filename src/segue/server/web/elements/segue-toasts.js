// Shows toasts, with an Undo button where the action can be undone.

import { h, Part, t } from "../lib/dom.js";

class Toasts extends Part {
  build() {
    this.setAttribute("role", "status");
    this.setAttribute("aria-live", "polite");
  }

  enter() {
    this.on(window, "segue-toast", ({ detail }) => this.#show(detail));
  }

  #show({ text, undo, ms, bad }) {
    const element = h("div.toast", { class: bad ? "bad" : null }, h("span", text));
    const undoAndClose = () => {
      element.remove();
      undo();
    };
    if (undo) element.append(h("button", { onclick: undoAndClose }, t("undo")));
    this.append(element);
    while (this.children.length > 3) this.firstChild.remove();
    setTimeout(() => element.remove(), ms);
  }
}

customElements.define("segue-toasts", Toasts);
