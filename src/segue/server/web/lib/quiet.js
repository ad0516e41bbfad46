// Quiet hours and digests of a conversation: what is wrong with what a user writes, and whether it is quiet. Pure.

import { zone } from "./times.js";
import { t } from "./words.js";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY_MINUTES = 24 * 60;
const LONGEST_MINUTES = 23 * 60;
const MOST_HOURS = 24;

const minutesOf = (clock) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** A sentence that says what is wrong with quiet hours; empty if nothing is. */
export function quietProblem({ from, to, days }) {
  if (!from || !to) return t("quiet_needs_times");
  const length = (minutesOf(to) - minutesOf(from) + DAY_MINUTES) % DAY_MINUTES;
  if (!length) return t("quiet_same_times");
  if (length > LONGEST_MINUTES) return t("quiet_too_long");
  return days.length ? "" : t("quiet_needs_days");
}

/** The same of a digest: `{ at }` or `{ hours }`; null is none. */
export function digestProblem(digest) {
  if (!digest) return "";
  if ("at" in digest) return digest.at ? "" : t("digest_needs_time");
  return digest.hours > 0 && digest.hours <= MOST_HOURS ? "" : t("digest_needs_hours", { most: MOST_HOURS });
}

export const daysOf = (days) => ({ all: DAYS, weekdays: DAYS.slice(0, 5) })[days] ?? days;

/** Whether a session has quiet hours at this moment, by the clocks of its zone. */
export function isQuietNow({ quiet, timezone }, now = new Date()) {
  const options = { timeZone: timezone ?? zone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const parts = new Intl.DateTimeFormat("en-GB", options).formatToParts(now);
  const part = (type) => parts.find((each) => each.type === type).value;
  const clock = `${part("hour")}:${part("minute")}`;
  const today = DAYS.indexOf(part("weekday").toLowerCase());
  const begins = (day) => daysOf(quiet.days).includes(DAYS[(day + 7) % 7]);
  const { from, to } = quiet;
  if (from < to) return from <= clock && clock < to && begins(today);
  return (clock >= from && begins(today)) || (clock < to && begins(today - 1));
}
