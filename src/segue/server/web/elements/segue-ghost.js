// An upcoming entry: when, what, and its actions.

import { actionsOf } from "../lib/actions.js";
import { h, Part, setText, t } from "../lib/dom.js";
import { conditionOf } from "../lib/future.js";
import { actionButton, row } from "../lib/row.js";
import { everySecond, formatFull, formatUpcoming, now, zone } from "../lib/times.js";

const KINDS = { recall: "recall", automation: "automation", message: "scheduled_message" };

class Ghost extends Part {
  enter() {
    everySecond(() => this.#tick(), this.lifetime.signal);
  }

  show(ghost, chat) {
    this.ghost = ghost;
    const condition = conditionOf(ghost.item);
    if (!this.differs(ghost.at, ghost.label, ghost.item.interval_seconds, condition)) return this.#tick();
    this.setAttribute("role", "listitem");
    this.when = h("time", { datetime: ghost.at.toISOString(), title: this.#tooltip(ghost) });
    const words = ghost.kind === "message" ? t("quoted", { words: ghost.label }) : ghost.label;
    const kind = ghost.item.schedule?.kind === "at" ? "reminder" : KINDS[ghost.kind];
    const label = h(
      "span.label",
      h("span.kind", t(kind)),
      h("span.of", { dir: "auto" }, words),
      condition && h("span.condition", condition),
    );
    const buttons = actionsOf(ghost, chat).map(({ name, act }) => actionButton(name, ghost.label, act));
    const element = row("ghost", { node: "ring", body: [label, h("span.verbs", buttons)] });
    element.querySelector(".who").append(this.when);
    this.replaceChildren(element);
    this.#tick();
  }

  /** The full time in the viewer's zone, and in the job's if that is another one. */
  #tooltip(ghost) {
    const jobZone = ghost.item.schedule?.tz;
    const local = formatFull(ghost.at);
    return jobZone && jobZone !== zone ? `${local}\n${formatFull(ghost.at, jobZone)}` : local;
  }

  #tick() {
    if (!this.when) return;
    setText(this.when, formatUpcoming(this.ghost.at));
    this.classList.toggle("due", this.ghost.at <= now());
  }
}

customElements.define("segue-ghost", Ghost);
