// Something that is to come: when, what, and the few verbs it has.

import { acts } from "../lib/acts.js";
import { h, Part, setText, t } from "../lib/dom.js";
import { row, verb } from "../lib/row.js";
import { coming, everySecond, whole, zone } from "../lib/times.js";

const KINDS = { recall: "recall", automation: "automation", message: "scheduled_message" };

class Ghost extends Part {
  enter() {
    everySecond(() => this.#tick(), this.leaving.signal);
  }

  show(ghost, chat) {
    this.ghost = ghost;
    if (!this.differs(ghost.at, ghost.label, ghost.of.interval_seconds)) return this.#tick();
    this.setAttribute("role", "listitem");
    this.when = h("time", { datetime: ghost.at.toISOString(), title: this.#exact(ghost) });
    const words = ghost.kind === "message" ? `“${ghost.label}”` : ghost.label;
    const label = h("span.label", h("span.kind", t(KINDS[ghost.kind])), h("span.of", words));
    const verbs = acts(ghost, chat).map(({ name, act }) => verb(name, ghost.label, act));
    const made = row("ghost", { node: "ring", body: [label, h("span.verbs", verbs)] });
    made.querySelector(".who").append(this.when);
    this.replaceChildren(made);
    this.#tick();
  }

  /** The viewer's time, and that of the job where its clocks differ. */
  #exact(ghost) {
    const theirs = ghost.of.schedule?.tz;
    const mine = whole(ghost.at);
    return theirs && theirs !== zone ? `${mine}\n${whole(ghost.at, theirs)}` : mine;
  }

  #tick() {
    if (!this.when) return;
    setText(this.when, coming(this.ghost.at));
    this.classList.toggle("due", this.ghost.at <= Date.now());
  }
}

customElements.define("segue-ghost", Ghost);
