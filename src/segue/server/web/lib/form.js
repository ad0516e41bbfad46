// A small form: its fields, a place for what the server said against it, Save and Cancel.

import { h, t } from "./dom.js";

export const field = (name, made) => h("label", t(`field_${name}`), Object.assign(made, { name }));

/** `save` sends what was given, and throws what the server refuses; `close` is for when it is over. */
export function form(fields, save, close) {
  const problem = h("p.problem", { role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await save(made.elements);
      close();
    } catch (refused) {
      problem.textContent = refused.message;
    }
  };
  const leave = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  const made = h("form", { onsubmit: submit, onkeydown: leave }, fields, problem,
    h("div.verbs", h("button.primary", { type: "submit" }, t("save")), h("button.quiet", { onclick: close }, t("cancel"))));
  return made;
}
