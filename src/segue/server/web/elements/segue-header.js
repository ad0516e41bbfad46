// The conversation's name and state, and the buttons to stop, delete and open the panel.

import { account } from "../lib/account.js";
import { address } from "../lib/api.js";
import { h, icon, Part, setText, t } from "../lib/dom.js";
import { menu } from "../lib/menu.js";
import { sessions } from "../lib/sessions.js";
import { refused } from "../lib/toast.js";

class Header extends Part {
  #chat = null;

  build() {
    this.name = h("button.name", { title: t("rename"), onclick: () => this.#rename() });
    this.heading = h("h1", this.name);
    this.owner = h("span.owner");
    this.state = h("span.state", { role: "status" });
    this.moon = h("segue-moon");
    this.stop = h(
      "button.stop",
      { hidden: true, title: `${t("stop")} (Esc)`, onclick: () => this.#chat.stop() },
      icon("stop"),
      t("stop"),
    );
    this.model = h("button.model", { hidden: true, onclick: () => this.emit("segue-settings", "model") });
    this.count = h("span.count");
    this.panel = h(
      "button.icon-button",
      { named: t("show_panel"), "aria-controls": "panel", onclick: () => this.emit("segue-panel") },
      icon("panel"),
      this.count,
    );
    this.more = menu(t("chat_menu"), [
      this.#item("down", "export_markdown", () => this.#export("markdown")),
      this.#item("down", "export_json", () => this.#export("json")),
      this.#item("clock", "calendar", () => this.emit("segue-calendar", this.#chat)),
      this.#item("trash", "delete_chat", () => this.emit("segue-delete", this.#chat.session)),
    ]);
    const chats = h(
      "button.icon-button.menu",
      { "aria-label": t("chats"), "aria-controls": "sidebar", onclick: () => this.emit("segue-menu") },
      icon("menu"),
    );
    this.append(
      ...[chats, this.heading, this.owner, this.state, this.moon, this.model, this.stop, this.more, this.panel],
    );
  }

  #item(sign, name, act) {
    return h("button.quiet", { onclick: act, class: sign === "trash" && "danger" }, icon(sign), t(name));
  }

  /** The server sends a file, so the page stays. */
  #export(format) {
    h("a", { href: address(`${this.#chat.path}/export?format=${format}`).href, download: "" }).click();
  }

  enter() {
    this.on(sessions, "change", () => this.#chat && this.show(this.#chat));
    this.on(account, "change", () => this.#showModel());
    this.#showModel();
  }

  show(chat) {
    this.#chat = chat;
    const session = sessions.get(chat.key) ?? chat.session;
    const name = session?.title || (chat.state === "new" ? t("new_chat") : t("untitled"));
    if (!this.heading.querySelector("input")) setText(this.name, chat.state === "loading" ? "…" : name);
    this.name.disabled = !chat.session;
    this.more.hidden = !chat.session;
    const owner = sessions.otherOwner(session);
    setText(this.owner, owner ? t("owned_by", { user: owner }) : "");
    const unread = sessions.unread ? `(${sessions.unread}) ` : "";
    document.title = unread + (chat.session ? `${name} · Segue` : "Segue");
    this.moon.chat = chat;
    const running = chat.running;
    const queued = chat.fold.waiting.length;
    const waiting = queued ? t("waiting", { count: queued }) : "";
    const state = chat.asking ? t("asks_you") : waiting;
    setText(this.state, running ? t("running") : state);
    this.state.classList.toggle("running", running);
    this.stop.hidden = !running;
    const count = (chat.jobs?.length ?? chat.session?.automation_count) || "";
    setText(this.count, String(count));
    this.panel.setAttribute("aria-label", `${t("show_panel")} ${count}`.trim());
  }

  #showModel() {
    this.model.hidden = !account.model;
    const name = account.model === "offline" ? t("offline_rules") : account.model;
    setText(this.model, name ?? "");
    this.model.title = t("model_of", { name });
  }

  async #save(chat, title) {
    try {
      await sessions.rename(chat.key, title);
      chat.session.title = title;
    } catch (problem) {
      refused(problem);
    }
  }

  #rename() {
    const chat = this.#chat;
    const field = h("input", {
      type: "text",
      value: chat.session.title ?? "",
      maxlength: "200",
      "aria-label": t("rename"),
    });
    let done = false;
    const end = async (keep) => {
      if (done) return;
      done = true;
      this.heading.replaceChildren(this.name);
      const title = field.value.trim();
      if (keep && title && title !== chat.session.title) {
        setText(this.name, title);
        await this.#save(chat, title);
      }
      this.show(chat);
    };
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      end(event.key === "Enter");
      this.name.focus();
    });
    this.heading.replaceChildren(field);
    field.select();
  }
}

customElements.define("segue-header", Header);
