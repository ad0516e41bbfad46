// A menu of further actions behind one button. It closes by Escape, by a choice, or when the focus leaves it.

import { h, icon } from "./dom.js";

export function menu(label, buttons) {
  const summary = h("summary.icon-button", { named: label }, icon("more"));
  const element = h("details.menu", summary, h("div.items", buttons));
  element.addEventListener("focusout", ({ relatedTarget }) => {
    if (!element.contains(relatedTarget)) element.open = false;
  });
  element.addEventListener("click", ({ target }) => {
    if (target.closest("button")) element.open = false;
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.preventDefault();
    element.open = false;
    summary.focus();
  });
  return element;
}
