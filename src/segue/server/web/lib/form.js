// A small form: labelled fields, the server's refusal, Save and Cancel.

import { h, t } from "./dom.js";

/** A labelled field, with a unit behind it and a sentence of help below it where given. */
export function field(name, input, { unit = "", help = "" } = {}) {
  Object.assign(input, { name });
  const entry = h("span.entry", input, unit && h("span.unit", unit));
  const label = h("label", h("span", t(`field_${name}`)), entry);
  if (!help) return label;
  const id = `help-${name}`;
  input.setAttribute("aria-describedby", id);
  return h("div", label, h("p.help", { id }, help));
}

/** `save` gets the form's elements and throws what the server refuses; `close` ends it, saved or not. */
export function form(fields, save, close) {
  const problem = h("p.problem", { role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await save(element.elements);
      close();
    } catch (refusal) {
      problem.textContent = refusal.message;
    }
  };
  const closeOnEscape = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  const buttons = h(
    "div.verbs",
    h("button.primary", { type: "submit" }, t("save")),
    h("button.quiet", { onclick: close }, t("cancel")),
  );
  const forget = () => (problem.textContent = "");
  const heard = { onsubmit: submit, onkeydown: closeOnEscape, oninput: forget };
  const element = h("form", heard, fields, problem, buttons);
  return element;
}
