// Dialog for the calendar address of a conversation: make one, copy it, revoke it. Adds itself to the page.

import { get, post, remove } from "../lib/api.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { copyFrom } from "../lib/row.js";
import { refused, toast } from "../lib/toast.js";

class Calendar extends Part {
  build() {
    this.text = h("p");
    this.url = h("input", { type: "text", readonly: true, "aria-label": t("calendar") });
    const copy = ({ currentTarget }) => copyFrom(currentTarget, this.url.value);
    this.address = h("p.entry", this.url, h("button.quiet", { named: t("copy"), onclick: copy }, icon("copy")));
    this.make = h("button", { onclick: () => this.#do(() => this.#make()) });
    this.revoke = h("button.danger", { onclick: () => this.#do(() => this.#revoke()) }, t("calendar_revoke"));
    this.done = h("button", { onclick: () => this.dialog.close() }, t("close"));
    this.dialog = h(
      "dialog",
      { "aria-labelledby": "calendar-title", onclose: () => (this.url.value = "") },
      h("h2", { id: "calendar-title" }, t("calendar")),
      this.text,
      this.address,
      h("div.choices", this.done, this.revoke, this.make),
    );
    this.append(this.dialog);
  }

  enter() {
    this.on(window, "segue-calendar", ({ detail }) => this.#do(() => this.#ask(detail)));
  }

  async #ask(chat) {
    this.path = `${chat.path}/calendar`;
    const { calendar } = await get(this.path);
    this.#show(Boolean(calendar));
    this.dialog.showModal();
    this.done.focus();
  }

  async #make() {
    this.#show(true, (await post(this.path)).url);
    this.url.select();
  }

  async #revoke() {
    await remove(this.path);
    this.#show(false);
    toast(t("calendar_revoked"));
  }

  /** The address is known only when it was made just now. */
  #show(shared, url = "") {
    this.text.textContent = t(url ? "calendar_once" : shared ? "calendar_hidden" : "calendar_help");
    this.url.value = url;
    this.address.hidden = !url;
    this.make.hidden = Boolean(url);
    this.make.textContent = t(shared ? "calendar_new" : "calendar_make");
    this.revoke.hidden = !shared;
  }

  async #do(act) {
    try {
      await act();
    } catch (problem) {
      this.dialog.close();
      refused(problem);
    }
  }
}

customElements.define("segue-calendar", Calendar);
document.body.append(h("segue-calendar"));
