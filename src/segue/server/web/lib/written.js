// Writes a schedule as a person would, in words that the server reads as the same schedule: to edit it. Pure.

import { simple } from "./schedules.js";
import { language, t } from "./words.js";

const UNITS = [
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
];

/** The schedule as a person would write it, so that the server reads the same one; empty if it has no words. */
export function asWritten(schedule, timezone) {
  if (schedule.kind === "at") return localTime(new Date(schedule.at), timezone);
  if (schedule.kind === "every") return everyWritten(schedule.every_seconds);
  const { form, values } = simple(schedule);
  const readable = WRITTEN.has(form) && !values.time.includes(",");
  // The server reads working days as those of the job's calendar; other days cannot be written with it.
  if (schedule.days) return readable && form === "daily" ? t("write_workdays", values) : "";
  const day = language === "en" && form === "monthly" ? ordinal(values.day) : values?.day;
  const words = readable ? t(`write_${form}`, { ...values, day }) : (schedule.expr ?? "");
  if (!words) return "";
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

const WRITTEN = new Set(["daily", "weekdays", "on_days", "monthly", "nth", "each_days", "each_weeks"]);
