// Where one writes. Nothing typed is lost: not by leaving, not by a reload, not by a lost connection.

import { h, icon, Part, t } from "../lib/dom.js";
import { draft } from "../lib/here.js";
import { live } from "../lib/live.js";
import { toast } from "../lib/toast.js";

class Composer extends Part {
  #chat = null;

  build() {
    this.field = h("textarea", { rows: "1", "aria-label": t("message"), placeholder: t("write"), enterkeyhint: "send", maxlength: "100000" });
    this.hint = h("segue-hint");
    this.send = h("button.send", { type: "submit", named: t("send") }, icon("send"));
    this.form = h("form", { onsubmit: (event) => this.#submit(event) }, this.field, this.send, this.hint);
    this.append(this.form, h("p.keys", { "aria-hidden": "true" }, t("keys")));
  }

  enter() {
    this.on(this.field, "input", () => this.#typed());
    this.on(this.field, "keydown", (event) => this.#press(event));
    this.on(live, "refused", ({ detail }) => this.#refused(detail));
    this.on(live, "accepted", ({ detail }) => detail.session === this.#chat?.key && (this.hint.written = { text: "" }));
  }

  set chat(chat) {
    this.#chat = chat;
    chat.addEventListener("opened", () => chat === this.#chat && this.#hint());
    this.fill(draft.of(chat.key), false);
  }

  focus() {
    this.field.focus({ preventScroll: true });
  }

  fill(text, kept = true) {
    this.field.value = text;
    this.#typed(kept);
    if (kept) this.focus();
  }

  #typed(kept = true) {
    const text = this.field.value;
    if (kept) draft.keep(this.#chat.key, text);
    this.send.disabled = !text.trim();
    this.#hint();
    this.#grow();
  }

  /** Also when the conversation has come, and with it its zone. */
  #hint() {
    this.hint.written = { text: this.field.value, timezone: this.#chat.timezone };
  }

  #grow() {
    if (CSS.supports("field-sizing: content")) return;
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, innerHeight * 0.4)}px`;
  }

  #press(event) {
    // A key that ends a composed word is not a key that sends.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit(event);
  }

  #submit(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    if (!text) return;
    this.#chat.say(text);
    this.fill("");
  }

  /** A refused message goes back into the field. */
  #refused({ said, detail }) {
    if (!said) return;
    toast(detail, { bad: true });
    if (said.session === this.#chat?.key && !this.field.value) this.fill(said.content);
    else draft.keep(said.session, said.content);
  }
}

customElements.define("segue-composer", Composer);
