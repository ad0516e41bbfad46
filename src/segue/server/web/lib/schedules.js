// Describes a schedule in words. A cron line that is not a simple pattern is shown as it is.

import { format, formatDate, formatDistance } from "./times.js";
import { t } from "./words.js";

const SUNDAY = new Date(2023, 0, 1);

export function inWords(schedule) {
  if (schedule.kind === "at") return t("once_at", { time: formatDate(new Date(schedule.at)) });
  if (schedule.kind === "every") return t("every", { time: formatDistance(schedule.every_seconds * 1000) });
  return schedule.kind === "cron" ? cronInWords(schedule.expr) : t("after_quiet");
}

function cronInWords(expr) {
  const [minute, hour, day, month, weekday] = expr.trim().split(/\s+/);
  const [, step] = /^\*\/(\d+)$/.exec(minute) ?? [];
  const everyDay = day === "*" && month === "*" && weekday === "*";
  if (step && hour === "*" && everyDay) return t("every", { time: t("minutes", { n: step }) });
  if (/^\d+$/.test(minute) && hour === "*" && everyDay) {
    return t("hourly_at", { minute: minute.padStart(2, "0") });
  }
  if (!/^\d+$/.test(minute) || !/^\d+(,\d+)*$/.test(hour) || month !== "*") return expr;
  const times = hour
    .split(",")
    .map((each) => `${each.padStart(2, "0")}:${minute.padStart(2, "0")}`)
    .join(", ");
  if (everyDay) return t("daily_at", { time: times });
  if (/^\d+$/.test(day) && weekday === "*") return t("monthly_at", { day, time: times });
  if (day !== "*") return expr;
  if (/^(1-5|mon-fri)$/i.test(weekday)) return t("weekdays_at", { time: times });
  const days = weekday.split(",").map(dayName);
  return days.every(Boolean) ? t("on_days_at", { days: days.join(", "), time: times }) : expr;
}

function dayName(field) {
  const names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
  const number = /^[0-7]$/.test(field) ? Number(field) % 7 : names.indexOf(field.toLowerCase());
  if (number < 0) return null;
  const date = new Date(SUNDAY.getFullYear(), 0, 1 + number);
  return format(date, { weekday: "long" });
}
