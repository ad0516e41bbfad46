// What this conversation will do in the next 30 days.

import { nextDays, SHOWN_DAYS } from "../lib/days.js";
import { h, Part, t } from "../lib/dom.js";
import { formatDayShort } from "../lib/times.js";
import { listed } from "../lib/tools.js";
import "./segue-month.js";

const MOST_NAMES = 3;

class Timeline extends Part {
  build() {
    this.month = h("segue-month");
    this.append(h("section", { "aria-label": t("next_days") }, h("h2", t("next_days")), this.month));
    this.hidden = true;
  }

  show(chat) {
    const days = nextDays(chat);
    const total = days.reduce((sum, day) => sum + day.count, 0);
    this.hidden = !total;
    if (!total) return;
    const most = Math.max(...days.map((day) => day.names.length));
    const shown = days.map(({ day, names }) => ({
      level: names.length / most,
      state: names.length ? "coming" : "",
      words: `${formatDayShort(day)}: ${names.length ? listed(shortened(names)) : t("nothing")}`,
    }));
    this.month.show(t("next_days"), shown, 0, t("coming_total", { count: total, days: SHOWN_DAYS }));
  }
}

function shortened(names) {
  const more = names.length - MOST_NAMES;
  return more > 0 ? [...names.slice(0, MOST_NAMES), t("and_more", { n: more })] : names;
}

customElements.define("segue-timeline", Timeline);
