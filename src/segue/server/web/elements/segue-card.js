// Confirmation of what the agent has scheduled: when, what, the next times, and what can be done.

import {
  cancelMessage,
  cancelRecall,
  pauseJob,
  removeJob,
  resumeJob,
  skipRecall,
} from "../lib/actions.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { recallLabel } from "../lib/future.js";
import { actionButton } from "../lib/row.js";
import { inWords } from "../lib/schedules.js";
import { formatDates, formatFull } from "../lib/times.js";

const NEXT_TIMES = 3;

/** How each kind is found in the conversation and told: `{ item, when, about, times, actions }`. */
const KINDS = {
  job: (chat, id, card) => {
    const job = chat.jobs.find((each) => each.id === id);
    return job && tellJob(chat, job, card);
  },
  recall: (chat, id) => (chat.recall?.id === id ? tellRecall(chat, chat.recall) : null),
  message: (chat, id) => {
    const message = chat.messages?.find((each) => each.task_id === id);
    return message && tellMessage(chat, message);
  },
};

function tellJob(chat, job, card) {
  const change = job.enabled
    ? { name: "pause", act: () => pauseJob(chat, job) }
    : { name: "resume", act: () => resumeJob(chat, job) };
  return {
    item: job,
    when: inWords(job.schedule),
    about: job.name,
    times: job.enabled && job.schedule.kind !== "at" ? job.next_runs : [],
    actions: [
      { name: "edit", act: () => card.emit("segue-edit", job.id) },
      change,
      { name: "undo", act: () => removeJob(chat, job) },
    ],
  };
}

/** A recall and a message can be cancelled and set again, but not changed. */
function tellRecall(chat, recall) {
  const every = recall.interval_seconds;
  const first = new Date(recall.trigger_at).getTime();
  const times = Array.from({ length: every ? NEXT_TIMES : 0 }, (_, n) => first + n * every * 1000);
  const schedule = every ? { kind: "every", every_seconds: every } : { kind: "at", at: recall.trigger_at };
  return {
    item: recall,
    when: inWords(schedule),
    about: recallLabel(recall),
    times,
    actions: [
      ...(every ? [{ name: "skip", act: () => skipRecall(chat) }] : []),
      { name: "cancel", act: () => cancelRecall(chat, recall) },
    ],
  };
}

function tellMessage(chat, message) {
  return {
    item: message,
    when: inWords({ kind: "at", at: message.send_at }),
    about: t("quoted", { words: message.message_text }),
    times: [],
    actions: [{ name: "cancel", act: () => cancelMessage(chat, message) }],
  };
}

class Card extends Part {
  enter() {
    if (!this.chat) return;
    this.on(this.chat, "future", () => this.#draw());
    this.#draw();
  }

  set subject({ kind, id, chat }) {
    Object.assign(this, { kind, itemId: id, chat });
    if (this.isConnected) this.enter();
  }

  #draw() {
    const { chat } = this;
    this.hidden = !chat?.jobs;
    if (this.hidden) return;
    const told = KINDS[this.kind](chat, this.itemId, this);
    if (!this.differs(told?.item ?? null, !told && this.#happened)) return;
    if (!told) {
      return this.replaceChildren(h("p.over", t(this.#happened ? "card_done" : "no_longer_scheduled")));
    }
    const times = told.times.map((at) => new Date(at));
    this.replaceChildren(
      icon("clock"),
      h(
        "div.about",
        h("strong", told.when),
        h("span.of", { dir: "auto" }, told.about),
        told.item.enabled === false && h("span.status.paused", t("paused")),
        times.length > 0 &&
          h(
            "div.times",
            ...formatDates(times).map((time, n) => h("time.chip", { title: formatFull(times[n]) }, time)),
          ),
        h("div.verbs", ...told.actions.map(({ name, act }) => actionButton(name, told.about, act))),
      ),
    );
  }

  /** Whether its turn or message is in the conversation. */
  get #happened() {
    return this.chat.fold.entries.some((entry) => entry.source?.job_id === this.itemId);
  }
}

customElements.define("segue-card", Card);
