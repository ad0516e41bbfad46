// Memory: the last summary, the facts, and how many tokens are left until the next archive.

import { perform } from "../lib/actions.js";
import { get, maybe, patch, post, remove } from "../lib/api.js";
import { h, icon, oncePerFrame, Part, t } from "../lib/dom.js";
import { setHtml } from "../lib/prose.js";
import { actionButton } from "../lib/row.js";
import { formatDate } from "../lib/times.js";
import { toast } from "../lib/toast.js";
import "./segue-policy.js";

const POLL_MS = 500;
const MOST_POLLS = 120;

class Memory extends Part {
  build() {
    this.bar = h("progress", { "aria-label": t("tokens_to_commit") });
    this.left = h("p.left");
    this.policy = h("segue-policy");
    this.failed = h("p.failed", { role: "status", hidden: true });
    this.summary = h("div.summary.prose");
    this.commit = h("button.plain", { onclick: () => this.#commit() }, icon("archive"), t("commit_now"));
    this.facts = h("ul");
    this.append(
      h(
        "section",
        { "aria-label": t("memory") },
        h("h2", t("memory")),
        h("p.help", t("memory_help")),
        this.failed,
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
    const state = [session.message_count, session.pending_tokens, session.auto_commit_last_error_at];
    if (this.differs(chat.key, ...state)) this.load();
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
      maybe(`${chat.path}/archives?limit=20`),
      maybe("memories?limit=50"),
    ]);
    if (chat !== this.chat) return;
    this.hidden = archives === null || memories === null;
    if (this.hidden) return;
    const newest = archives.archives[0];
    this.#showFailure(newest, chat.session);
    const done = archives.archives.find((archive) => archive.summary);
    const { html } = done ? await post("markdown", { text: done.summary }) : { html: "" };
    setHtml(this.summary, html);
    this.facts.replaceChildren(...memories.memories.map((memory) => this.#fact(memory)));
  }

  /** The last commit failed: in one sentence, with the error behind Details, and a way to try again. */
  #showFailure(newest, session) {
    const error = newest?.state === "failed" ? newest.error : session.auto_commit_last_error;
    this.failed.hidden = !error;
    if (!error) return;
    const again = h("button.quiet", { onclick: () => this.#commit() }, icon("undo"), t("try_again"));
    this.failed.replaceChildren(
      h("span.outcome.error", t("commit_failed")),
      again,
      h("details", h("summary", t("details")), h("pre", { tabindex: "0" }, error)),
    );
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
    const item = h("li", h("span", { dir: "auto" }, text), h("span.none", this.#origin(memory)));
    const buttons = [actionButton("edit", text, () => edit(item)), actionButton("forget", text, forget)];
    item.append(h("span.verbs", buttons));
    return item;
  }

  /** What a fact is about, and where it was learned. */
  #origin({ kind, source, created_at: at }) {
    const about = kind === "thread" || kind === "decision" ? t("about_chat") : t("about_you");
    if (!source) return `${about} · ${t("written_by_you")}`;
    return `${about} · ${t("learned", { time: formatDate(new Date(at)) })}`;
  }

  async #commit() {
    const answer = await perform(this.chat, () => post(`${this.chat.path}/commit`, {}));
    if (!answer) return;
    toast(answer.archived ? t("committing") : t("nothing_to_commit"));
    if (answer.archived) await this.#untilLearned(answer.task_id);
    this.load();
    this.chat.loadArchives();
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
