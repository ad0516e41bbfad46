// Memory: the last summary, the facts, and how many tokens are left until the next archive.

import { perform } from "../lib/actions.js";
import { get, maybe, patch, post, remove } from "../lib/api.js";
import { h, oncePerFrame, Part, t } from "../lib/dom.js";
import { actionButton } from "../lib/row.js";
import { toast } from "../lib/toast.js";
import "./segue-policy.js";

const POLL_MS = 500;
const MOST_POLLS = 120;

class Memory extends Part {
  build() {
    this.bar = h("progress", { "aria-label": t("tokens_to_commit") });
    this.left = h("p.left");
    this.policy = h("segue-policy");
    this.summary = h("p.summary");
    this.commit = h("button.quiet", { onclick: () => this.#commit() }, t("commit_now"));
    this.facts = h("ul");
    this.append(
      h(
        "section",
        { "aria-label": t("memory") },
        h("h2", t("memory")),
        this.bar,
        this.left,
        this.policy,
        this.commit,
        this.summary,
        this.facts,
      ),
    );
    this.hidden = true;
    this.load = oncePerFrame(() => this.#load().catch(() => (this.hidden = true)));
  }

  show(chat) {
    this.chat = chat;
    const session = chat.session;
    if (!session) {
      this.hidden = true;
      return;
    }
    this.#showProgress(session);
    if (this.differs(chat.key, session.message_count, session.pending_tokens)) this.load();
  }

  #showProgress(session) {
    const policy = session.auto_commit_policy;
    const limit = policy?.enabled && policy.token_threshold;
    this.bar.hidden = !limit;
    if (limit) Object.assign(this.bar, { max: limit, value: Math.min(limit, session.pending_tokens) });
    this.left.textContent = limit
      ? t("tokens_left", { count: Math.max(0, limit - session.pending_tokens) })
      : t("tokens_pending", { count: session.pending_tokens });
    this.policy.show(this.chat);
  }

  async #load() {
    const chat = this.chat;
    const [archives, memories] = await Promise.all([
      maybe(`${chat.path}/archives?limit=1`),
      maybe("memories?limit=50"),
    ]);
    if (chat !== this.chat) return;
    this.hidden = archives === null || memories === null;
    if (this.hidden) return;
    this.summary.textContent = archives.archives[0]?.summary ?? "";
    this.facts.replaceChildren(...memories.memories.map((memory) => this.#fact(memory)));
  }

  #fact(memory) {
    const text = memory.content;
    const save = async (field) => {
      const content = field.value.trim();
      if (content && content !== text) {
        await perform(this.chat, () => patch(`memories/${memory.id}`, { content }), t("saved"));
      }
      this.load();
    };
    const edit = (item) => {
      const field = h("textarea", { rows: "2", "aria-label": t("edit") }, text);
      item.replaceChildren(field, h("button.quiet", { onclick: () => save(field) }, t("save")));
      field.focus();
    };
    const forget = async () => {
      await perform(this.chat, () => remove(`memories/${memory.id}`), t("forgotten"));
      this.load();
    };
    const item = h("li", h("span", text));
    const buttons = [actionButton("edit", text, () => edit(item)), actionButton("forget", text, forget)];
    item.append(h("span.verbs", buttons));
    return item;
  }

  async #commit() {
    const answer = await perform(this.chat, () => post(`${this.chat.path}/commit`, {}));
    if (!answer) return;
    toast(answer.archived ? t("committing") : t("nothing_to_commit"));
    if (answer.archived) await this.#untilLearned(answer.task_id);
    this.load();
  }

  /** Polls the archive's task: the facts are extracted afterwards, by a model if there is one. */
  async #untilLearned(task) {
    for (let polls = 0; polls < MOST_POLLS && this.isConnected; polls += 1) {
      const { status } = await get(`tasks/${task}`).catch(() => ({ status: "failed" }));
      if (status !== "pending" && status !== "running") return;
      await new Promise((wake) => setTimeout(wake, POLL_MS));
    }
  }
}

customElements.define("segue-memory", Memory);
