// Describes a schedule in words. A cron line that is no simple pattern stays as it is.

import { format, formatDate, formatDistance } from "./times.js";
import { listed } from "./tools.js";
import { language, t } from "./words.js";

const RULE_DAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const SUNDAY = new Date(2023, 0, 1);

export function inWords(schedule) {
  if (schedule.kind === "at") return t("once_at", { time: formatDate(new Date(schedule.at)) });
  if (schedule.kind === "every") return t("every", { time: formatDistance(schedule.every_seconds * 1000) });
  if (schedule.kind === "idle") return t("after_quiet");
  const { form, values } = simple(schedule);
  const calendar = schedule.days && calendarName(schedule.days);
  if (calendar && form === "daily") return t("workdays_at", { calendar, ...values });
  const words = form ? t(`${form}_at`, values) : (schedule.expr ?? t("by_rule"));
  return calendar ? t("on_workdays", { words, calendar }) : words;
}

/** `China` for the day set of a country; a set of the account has the name that it was given. */
export const calendarName = (days) =>
  /^[A-Z]{2}$/.test(days) ? new Intl.DisplayNames(language, { type: "region" }).of(days) : days;

/** The form of a simple schedule, a key of the catalogue, and its values. */
export const simple = ({ kind, expr, rrule, start }) =>
  kind === "cron" ? simpleLine(expr) : simpleRule(rrule, start);

/** `FREQ=WEEKLY;INTERVAL=2;BYDAY=FR`: every other friday, at the time of day of `start`. */
function simpleRule(rule, start) {
  const parts = Object.fromEntries(rule.split(";").map((part) => part.split("=")));
  const { FREQ, INTERVAL: n = "1", BYDAY, ...rest } = parts;
  if (Object.keys(rest).length) return {};
  const time = start.slice(11, 16);
  if (FREQ === "DAILY" && !BYDAY) return { form: n === "1" ? "daily" : "each_days", values: { n, time } };
  if (FREQ === "MONTHLY" && !BYDAY) {
    const day = String(Number(start.slice(8, 10)));
    return { form: n === "1" ? "monthly" : "each_months", values: { n, day, time } };
  }
  const day = FREQ === "WEEKLY" && RULE_DAYS.includes(BYDAY) && dayName(String(RULE_DAYS.indexOf(BYDAY)));
  if (!day) return {};
  return { form: n === "1" ? "on_days" : "each_weeks", values: { n, day, days: day, time } };
}

function simpleLine(expr) {
  const [minute, hour, day, month, weekday] = expr.trim().split(/\s+/);
  const [, step] = /^\*\/(\d+)$/.exec(minute) ?? [];
  const everyDay = day === "*" && month === "*" && weekday === "*";
  if (step && hour === "*" && everyDay) return { form: "every_minutes", values: { n: step } };
  if (/^\d+$/.test(minute) && hour === "*" && everyDay) {
    return { form: "hourly", values: { minute: minute.padStart(2, "0") } };
  }
  if (!/^\d+$/.test(minute) || !/^\d+(,\d+)*$/.test(hour) || month !== "*") return {};
  const time = hour
    .split(",")
    .map((each) => `${each.padStart(2, "0")}:${minute.padStart(2, "0")}`)
    .join(", ");
  if (everyDay) return { form: "daily", values: { time } };
  if (/^\d+$/.test(day) && weekday === "*") return { form: "monthly", values: { day, time } };
  if (day !== "*") return {};
  const [, of, nth] = /^([0-7])(?:#([1-5])|L)$/i.exec(weekday) ?? [];
  if (of) {
    const ordinals = t("ordinals").split(",");
    return { form: "nth", values: { nth: ordinals.at(nth ? nth - 1 : -1), day: dayName(of), time } };
  }
  if (/^(1-5|mon-fri)$/i.test(weekday)) return { form: "weekdays", values: { time } };
  const days = weekday.split(",").map(dayName);
  return days.every(Boolean) ? { form: "on_days", values: { days: listed(days), time } } : {};
}

function dayName(field) {
  const names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
  const number = /^[0-7]$/.test(field) ? Number(field) % 7 : names.indexOf(field.toLowerCase());
  if (number < 0) return null;
  return format(new Date(SUNDAY.getFullYear(), 0, 1 + number), { weekday: t("weekday_style") });
}
