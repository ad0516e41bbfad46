// What this conversation will do in the next 30 days, as the server foretells it.

import { h, Part, t } from "../lib/dom.js";
import { recallLabel } from "../lib/future.js";
import { comingWords, dayOf } from "../lib/outlook.js";
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

  show(chat, found) {
    const total = found?.forecast.total;
    this.hidden = !total || !(total.slots || total.days_off);
    if (this.hidden) return;
    const names = namesOf(chat, found.forecast.jobs);
    const days = found.forecast.days.map(({ date, jobs }) => ({ day: dayOf(date), jobs: Object.entries(jobs) }));
    const most = Math.max(...days.map(({ jobs }) => jobs.length), 1);
    const shown = days.map(({ day, jobs }) => ({
      level: jobs.length / most,
      state: jobs.length ? "coming" : "",
      words: `${formatDayShort(day)}: ${jobs.length ? listed(shortened(jobs, names)) : t("nothing")}`,
    }));
    this.month.show(t("next_days"), shown, 0, comingWords(found));
  }
}

/** What a job is called here, by its id: a recall and a message by their words. */
function namesOf({ recall, messages }, jobs) {
  const names = new Map(jobs.map(({ job_id: id, name }) => [id, name]));
  if (recall) names.set(recall.id, recallLabel(recall));
  for (const { task_id: id, message_text: words } of messages ?? []) names.set(id, t("quoted", { words }));
  return names;
}

function shortened(jobs, names) {
  const shown = jobs.map(([id, count]) => (count > 1 ? `${names.get(id)} ×${count}` : names.get(id)));
  const more = shown.length - MOST_NAMES;
  return more > 0 ? [...shown.slice(0, MOST_NAMES), t("and_more", { n: more })] : shown;
}

customElements.define("segue-timeline", Timeline);
