// What this conversation used in the last 30 days: tokens and cost by day, and by automation.

import { h, Part, t } from "../lib/dom.js";
import { dayOf, usedWords } from "../lib/outlook.js";
import { formatDayShort } from "../lib/times.js";
import "./segue-month.js";

const MOST_JOBS = 6;

const tokensOf = ({ input_tokens: read, output_tokens: written }) => read + written;

class UsedDays extends Part {
  build() {
    this.month = h("segue-month");
    this.jobs = h("dl");
    this.append(
      h("section", { "aria-label": t("used") }, h("h2", t("used")), this.month, this.jobs),
    );
    this.hidden = true;
  }

  show(found) {
    const usage = found?.usage;
    this.hidden = !usage || !tokensOf(usage.total);
    if (this.hidden) return;
    // Where no price is known, the bars are tokens.
    const size = usage.total.cost_usd ? (used) => used.cost_usd ?? 0 : tokensOf;
    const most = Math.max(...usage.days.map(size));
    const days = usage.days.map((day) => ({
      level: most ? size(day) / most : 0,
      state: tokensOf(day) ? "coming" : "",
      words: `${formatDayShort(dayOf(day.date))}: ${usedWords(day) || t("nothing")}`,
    }));
    this.month.show(t("used"), days, days.length - 1, usedWords(usage.total));
    const jobs = usage.jobs.filter(tokensOf).sort((one, other) => size(other) - size(one));
    const nameOf = ({ job_id: id, name }) => (id === null ? t("your_messages") : (name ?? t("removed_job")));
    this.jobs.replaceChildren(
      ...jobs.slice(0, MOST_JOBS).flatMap((job) => [h("dt", { dir: "auto" }, nameOf(job)), h("dd", usedWords(job))]),
    );
  }
}

customElements.define("segue-used", UsedDays);
