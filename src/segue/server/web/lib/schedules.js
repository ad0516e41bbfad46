// Describes a schedule in words: to read, and to edit. A cron line that is no simple pattern stays as it is.

import { format, formatDate, formatDistance } from "./times.js";
import { listed } from "./tools.js";
import { language, t } from "./words.js";

const SUNDAY = new Date(2023, 0, 1);
const UNITS = [
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
];

export function inWords(schedule) {
  if (schedule.kind === "at") return t("once_at", { time: formatDate(new Date(schedule.at)) });
  if (schedule.kind === "every") return t("every", { time: formatDistance(schedule.every_seconds * 1000) });
  if (schedule.kind !== "cron") return t("after_quiet");
  const { form, values } = simple(schedule.expr);
  return form ? t(`${form}_at`, values) : schedule.expr;
}

/** The schedule as a person would write it, so that the server reads the same schedule. */
export function asWritten(schedule, timezone) {
  if (schedule.kind === "at") return localTime(new Date(schedule.at), timezone);
  if (schedule.kind === "every") return everyWritten(schedule.every_seconds);
  const { form, values } = simple(schedule.expr);
  const readable = ["daily", "weekdays", "on_days", "monthly"].includes(form) && !values.time.includes(",");
  const day = language === "en" && values?.day ? ordinal(values.day) : values?.day;
  const words = readable ? t(`write_${form}`, { ...values, day }) : schedule.expr;
  return schedule.tz && schedule.tz !== timezone ? `${words} ${schedule.tz}` : words;
}

/** `1st`, `2nd`, `3rd`, `4th`: only English needs it. */
function ordinal(day) {
  const endings = { one: "st", two: "nd", few: "rd", other: "th" };
  return day + endings[new Intl.PluralRules("en", { type: "ordinal" }).select(Number(day))];
}

function everyWritten(seconds) {
  const [unit, length] = UNITS.find(([, each]) => seconds % each === 0 && seconds >= each) ?? UNITS[2];
  return t(`write_${unit}`, { n: String(seconds / length) });
}

/** `2026-11-18 09:00`, as the clocks in that zone show it. */
const localTime = (moment, timeZone) =>
  new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short", timeZone }).format(moment);

/** The form of a simple cron line, a key of the catalogue, and its values. */
function simple(expr) {
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
