// Banner of the pending recall, with a countdown, or of the running one.

import { cancelRecall, skipRecall } from "../lib/actions.js";
import { h, icon, Part, t } from "../lib/dom.js";
import { recallLabel } from "../lib/future.js";
import { everySecond, formatCountdown, formatFull, now } from "../lib/times.js";

class Recall extends Part {
  #chat = null;

  build() {
    this.left = h("span.left", { role: "timer" });
    this.label = h("span.of");
    this.skip = h("button.quiet", { onclick: () => skipRecall(this.#chat) }, t("skip"));
    this.cancel = h(
      "button.quiet",
      { onclick: () => cancelRecall(this.#chat, this.#chat.recall) },
      t("cancel"),
    );
    this.append(
      h(
        "div.banner",
        { role: "group", "aria-label": t("pending_recall") },
        icon("clock"),
        this.left,
        this.label,
        h("span.verbs", this.skip, this.cancel),
      ),
    );
    this.hidden = true;
  }

  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  set chat(chat) {
    this.#chat = chat;
    const recall = chat.bannerRecall;
    this.hidden = !recall;
    if (!recall) return;
    this.label.textContent = recallLabel(recall);
    this.skip.hidden = !recall.interval_seconds;
    this.cancel.hidden = recall.status === "running" && !recall.interval_seconds;
    this.left.title = formatFull(new Date(recall.trigger_at));
    this.#tick();
  }

  #tick() {
    if (this.hidden || !this.#chat?.recall) return;
    const ms = new Date(this.#chat.recall.trigger_at) - now();
    if (this.#chat.recall.status === "running") this.left.textContent = t("recall_running");
    else this.left.textContent = ms > 0 ? t("recall_in", { time: formatCountdown(ms) }) : t("recall_due");
  }
}

customElements.define("segue-recall", Recall);
