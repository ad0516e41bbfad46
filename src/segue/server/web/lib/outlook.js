// Outlook and usage of a chat: what comes in 30 days and costs, what was used in 30 days, what budgets have left.

import { get, inPath } from "./api.js";
import { zone } from "./times.js";
import { amounts, dollars } from "./usage.js";
import { t } from "./words.js";

const DAYS = 30;

/** Returns `{ forecast, budget, usage }`. Days are those of this browser's zone. */
export async function outlook(key) {
  const path = `sessions/${inPath(key)}`;
  const of = `days=${DAYS}&timezone=${encodeURIComponent(zone)}`;
  const [forecast, budget, usage] = await Promise.all([
    get(`${path}/forecast?${of}&slots=false`),
    get(`${path}/budget`),
    get(`${path}/usage?${of}`),
  ]);
  return { forecast, budget, usage };
}

/** The day of an answer, at noon: `2026-11-18`. */
export const dayOf = (date) => new Date(`${date}T12:00`);

/** What comes: how often, what will be left out, what it costs, and what the chat's budget has left. */
export function comingWords({ forecast: { total }, budget }) {
  const parts = [t("coming_total", { count: total.runs, days: DAYS })];
  if (total.skipped) parts.push(t("skipped_slots", { count: total.skipped }));
  if (total.days_off) parts.push(t("skipped_by_holidays", { count: total.days_off }));
  if (total.cost_usd) parts.push(t("about", { money: dollars(total.cost_usd.p50) }));
  if (total.tokens && total.runs_without_price) {
    parts.push(t("price_unknown_of", { count: total.runs_without_price }));
  }
  return [parts.join(", "), budget.unit && ofBudget(budget)].filter(Boolean).join(" · ");
}

/** What an automation will cost in a month, and what its budget has left. */
export function priceOf({ forecast, budget }, jobId) {
  const cost = forecast.jobs.find((each) => each.job_id === jobId)?.cost_usd;
  const own = budget.jobs.find((each) => each.job_id === jobId);
  const words = [cost && t("about_a_month", { money: dollars(cost.p50) }), own && ofBudget(own)];
  return words.filter(Boolean).join(" · ");
}

/** The last days of an automation, each with its sums; null on a day on which it did nothing. */
export const daysOfJob = ({ usage }, jobId) =>
  usage.days.map(({ date, jobs }) => ({
    day: dayOf(date),
    used: jobs.find((each) => each.job_id === jobId) ?? null,
  }));

/** The sums of an automation over the last days; null if it did nothing. */
export const usedByJob = ({ usage }, jobId) => usage.jobs.find((each) => each.job_id === jobId) ?? null;

/** `3.1 k tokens, $0.02`, or an empty text if no model was asked. */
export const usedWords = (used) => amounts(used).join(", ");

/** `$0.31 of $0.50 today`; what runs under way have reserved counts. */
function ofBudget({ unit, spent, reserved, limit, per }) {
  const shown = { spent: spent + reserved, limit };
  if (unit === "usd") {
    shown.spent = dollars(shown.spent);
    shown.limit = dollars(limit);
  }
  return `${t(`budget_${unit}`, shown)} ${t(`in_this_${per}`)}`;
}
