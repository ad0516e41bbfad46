// Dialog for deleting a conversation. A second confirmation is needed if it has automations.

import { h, Part, t } from "../lib/dom.js";
import { sessions } from "../lib/sessions.js";
import { refused, toast } from "../lib/toast.js";

class Delete extends Part {
  build() {
    this.heading = h("h2", { id: "delete-title" });
    this.text = h("p");
    this.list = h("ul");
    this.yes = h("button.danger", { type: "submit" });
    this.no = h("button", { onclick: () => this.dialog.close() }, t("keep_it"));
    this.dialog = h(
      "dialog",
      { "aria-labelledby": "delete-title" },
      h(
        "form",
        { method: "dialog", onsubmit: (event) => this.#confirm(event) },
        this.heading,
        this.text,
        this.list,
        h("div.choices", this.no, this.yes),
      ),
    );
    this.append(this.dialog);
  }

  ask(session) {
    this.session = session;
    this.blocked = false;
    const title = session.title || t("untitled");
    this.#say(
      t("delete_title", { title }),
      t("delete_text", { count: session.message_count }),
      t("delete"),
      [],
    );
    this.dialog.showModal();
    this.no.focus();
  }

  async #confirm(event) {
    event.preventDefault();
    this.yes.disabled = true;
    try {
      const answer = await sessions.delete(this.session.key, this.blocked);
      if (answer.deleted) {
        this.dialog.close();
        return toast(t("deleted"));
      }
      this.blocked = true;
      const count = answer.automations.length;
      this.#say(
        t("delete_blocked", { count }),
        t("delete_blocked_text", { count }),
        t("delete_all", { count }),
        answer.automations,
      );
      this.no.focus();
    } catch (problem) {
      this.dialog.close();
      refused(problem);
    } finally {
      this.yes.disabled = false;
    }
  }

  #say(title, text, yes, jobs) {
    this.heading.textContent = title;
    this.text.textContent = text;
    this.yes.textContent = yes;
    this.list.replaceChildren(
      ...jobs.map((job) => h("li", job.name, !job.enabled && h("span.status.paused", t("paused")))),
    );
  }
}

customElements.define("segue-delete", Delete);
