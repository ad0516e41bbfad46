// The recent runs of an automation: one mark each, the newest on the right.

import { h, Part, t } from "../lib/dom.js";
import { formatDate } from "../lib/times.js";

class Strip extends Part {
  build() {
    this.marks = h("div.marks", { role: "group", "aria-label": t("history") });
    this.append(this.marks);
  }

  show(runs) {
    this.hidden = !runs.length;
    this.marks.replaceChildren(...[...runs].reverse().map((run) => this.#mark(run)));
  }

  #mark(run) {
    const outcome = run.outcome ?? run.state ?? "queued";
    const name = `${formatDate(new Date(run.slot))}: ${t(`outcome_${outcome}`)}`;
    return h(`button.mark.${outcome}`, { named: name, onclick: () => this.emit("segue-run", run) });
  }
}

customElements.define("segue-strip", Strip);
