// Dialog for deleting a conversation. A second confirmation is needed if it has automations.

import { inPath, maybe } from "../lib/api.js";
import { h, Part, t } from "../lib/dom.js";
import { recallLabel } from "../lib/future.js";
import { sessions } from "../lib/sessions.js";
import { refused, toast } from "../lib/toast.js";

class Delete extends Part {
  build() {
    this.heading = h("h2", { id: "delete-title" });
    this.text = h("p");
    this.list = h("ul");
    this.yes = h("button.danger", { type: "submit" });
    this.no = h("button", { onclick: () => this.dialog.close() }, t("cancel"));
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

  async ask(session) {
    this.session = session;
    this.blocked = false;
    const { count, pending } = await contentsOf(session);
    const title = session.title || t("untitled");
    this.#say(t("delete_title", { title }), t("delete_text", { count }), t("delete"), pending);
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
        answer.automations.map((job) => [job.name, !job.enabled && t("paused")]),
      );
      this.no.focus();
    } catch (problem) {
      this.dialog.close();
      refused(problem);
    } finally {
      this.yes.disabled = false;
    }
  }

  #say(title, text, yes, items) {
    this.heading.textContent = title;
    this.text.textContent = text;
    this.yes.textContent = yes;
    this.list.replaceChildren(
      ...items.map(([name, note]) => h("li", h("span", name), note && h("span.none", note))),
    );
  }
}

/** All messages, archived ones too, and what is pending: `[name, kind]` each. */
async function contentsOf(session) {
  const path = `sessions/${inPath(session.key)}`;
  const [archived, scheduled] = await Promise.all([
    maybe(`${path}/archives?limit=500`).catch(() => null),
    maybe(`${path}/scheduled-messages?status=pending`).catch(() => null),
  ]);
  const kept = (archived?.archives ?? []).reduce((sum, archive) => sum + archive.message_count, 0);
  const recall = session.recall && [[recallLabel(session.recall), t("recall")]];
  const messages = (scheduled?.messages ?? []).map((each) => [each.message_text, t("scheduled_message")]);
  return { count: session.message_count + kept, pending: [...(recall || []), ...messages] };
}

customElements.define("segue-delete", Delete);
