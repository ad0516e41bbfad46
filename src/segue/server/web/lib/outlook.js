// Outlook: what the automations of a chat will do and cost in 30 days, and what their budgets have left.

import { get, inPath } from "./api.js";
import { dollars } from "./usage.js";
import { t } from "./words.js";

const DAYS = 30;

/** Returns a line for the chat, and a line for each automation that has something to say, by its id. */
export async function outlook(key) {
  const path = `sessions/${inPath(key)}`;
  const [forecast, budget] = await Promise.all([get(`${path}/forecast?days=${DAYS}`), get(`${path}/budget`)]);
  const budgets = new Map(budget.jobs.map((each) => [each.job_id, each]));
  const lines = new Map(forecast.jobs.map((job) => [job.job_id, jobLine(job, budgets.get(job.job_id))]));
  for (const [id, each] of budgets) if (!lines.has(id)) lines.set(id, ofBudget(each));
  return { summary: summaryOf(forecast.total, budget), lines };
}

function summaryOf(total, budget) {
  if (!total.slots && !total.days_off) return "";
  const parts = [t("runs", { count: total.runs })];
  if (total.skipped) parts.push(t("skipped_slots", { count: total.skipped }));
  if (total.days_off) parts.push(t("skipped_by_holidays", { count: total.days_off }));
  if (total.cost_usd) parts.push(t("about", { money: dollars(total.cost_usd.p50) }));
  const words = `${t("days_ahead", { count: DAYS })}: ${parts.join(", ")}`;
  return [words, budget.unit && ofBudget(budget)].filter(Boolean).join(" · ");
}

function jobLine(job, budget) {
  const cost = job.cost_usd && t("about_a_month", { money: dollars(job.cost_usd.p50) });
  return [cost, budget && ofBudget(budget)].filter(Boolean).join(" · ");
}

/** `$0.31 of $0.50 today`; what runs under way have reserved counts. */
function ofBudget({ unit, spent, reserved, limit, per }) {
  const amounts = { spent: spent + reserved, limit };
  if (unit === "usd") {
    amounts.spent = dollars(amounts.spent);
    amounts.limit = dollars(limit);
  }
  return `${t(`budget_${unit}`, amounts)} ${t(`in_this_${per}`)}`;
}
