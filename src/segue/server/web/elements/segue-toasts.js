// What was just done, with Undo for as long as it can be undone.

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
    const shown = h("div.toast", { class: bad ? "bad" : null }, h("span", text));
    const back = () => {
      shown.remove();
      undo();
    };
    if (undo) shown.append(h("button", { onclick: back }, t("undo")));
    this.append(shown);
    while (this.children.length > 3) this.firstChild.remove();
    setTimeout(() => shown.remove(), ms);
  }
}

customElements.define("segue-toasts", Toasts);
