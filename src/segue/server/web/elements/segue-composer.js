// The message field. What is typed survives a change of conversation, a reload and a lost connection.

import { h, icon, Part, t } from "../lib/dom.js";
import { draft } from "../lib/route.js";
import { live } from "../lib/connection.js";
import { toast } from "../lib/toast.js";

class Composer extends Part {
  #chat = null;
  #answered = null;

  build() {
    this.field = h("textarea", {
      rows: "1",
      "aria-label": t("message"),
      placeholder: t(matchMedia("(max-width: 759px)").matches ? "write_short" : "write"),
      enterkeyhint: "send",
      maxlength: "100000",
    });
    this.hint = h("segue-hint");
    this.to = h("segue-to", { hidden: true });
    this.send = h("button.send", { type: "submit", named: t("send") }, icon("send"));
    this.files = h("segue-files");
    const attach = h(
      "button.icon-button.attach",
      { named: t("attach"), onclick: () => this.files.choose?.() },
      icon("clip"),
    );
    this.form = h(
      "form",
      { onsubmit: (event) => this.#submit(event) },
      ...[this.files, attach, this.field, this.send, this.hint],
    );
    this.append(this.to, this.form, h("p.keys", { "aria-hidden": "true" }, t("keys")));
  }

  enter() {
    this.on(this.field, "input", () => this.#changed());
    this.on(this.field, "keydown", (event) => this.#press(event));
    this.on(this.hint, "segue-replace", ({ detail }) => {
      this.fill(this.field.value.replace(detail.phrase, detail.words));
    });
    this.on(this.files, "segue-files", () => this.#showSend());
    this.on(live, "refused", ({ detail }) => this.#refused(detail));
    this.on(
      live,
      "accepted",
      ({ detail }) => detail.session === this.#chat?.key && (this.hint.written = { text: "" }),
    );
  }

  set chat(chat) {
    if (chat !== this.#chat) this.answer(null);
    this.#chat = chat;
    chat.addEventListener("opened", () => chat === this.#chat && this.#updateHint());
    this.files.chat = chat;
    this.fill(draft.of(chat.key), false);
  }

  focus() {
    this.field.focus({ preventScroll: true });
  }

  /** The next message answers this one: `{ id, label }`, or null. */
  answer(message) {
    this.#answered = message;
    this.to.message = message;
  }

  /** Sets the text; `typed` is false when it comes from the stored draft. */
  fill(text, typed = true) {
    this.field.value = text;
    this.#changed(typed);
    if (typed) this.focus();
  }

  #changed(typed = true) {
    const text = this.field.value;
    if (typed) draft.keep(this.#chat.key, text);
    this.#showSend();
    this.#updateHint();
    this.#fitHeight();
  }

  /** Files that are still on their way are waited for. */
  #showSend() {
    const { parts = [], busy = false } = this.files;
    this.send.disabled = busy || !(this.field.value.trim() || parts.length);
  }

  /** Called again when the conversation has loaded, because its zone is known then. */
  #updateHint() {
    this.hint.written = { text: this.field.value, timezone: this.#chat.timezone, days: this.#chat.days };
  }

  #fitHeight() {
    if (CSS.supports("field-sizing: content")) return;
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, innerHeight * 0.4)}px`;
  }

  #press(event) {
    // The Enter that ends a composed word (IME) does not send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit(event);
  }

  #submit(event) {
    event.preventDefault();
    if (this.send.disabled) return;
    const parts = this.files.take?.() ?? [];
    const more = parts.length ? { parts } : {};
    if (this.#answered) more.reply_to = this.#answered.id;
    this.#chat.send(this.field.value.trim(), more);
    this.answer(null);
    this.fill("");
  }

  /** A refused message goes back into the field. */
  #refused({ message, detail, code }) {
    if (!message) return;
    this.files.putBack?.(message);
    toast(message.replaces ? t(code === "turn_replaced" ? code : "not_replaced") : detail, { bad: true });
    if (message.session === this.#chat?.key && !this.field.value) this.fill(message.content);
    else draft.keep(message.session, message.content);
  }
}

customElements.define("segue-composer", Composer);
