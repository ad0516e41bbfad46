// Formats times for the viewer, in the browser's zone: near ones as a distance, far ones as a date.

import { language, t } from "./words.js";

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const formatters = new Map();

const callbacks = new Set();
let current = new Date();

/** The page's clock. It advances once a second, so that all that counts down agrees. */
export const now = () => current;

/** Calls `callback` every second until the signal aborts, but not while the page is hidden. */
export function everySecond(callback, signal) {
  callbacks.add(callback);
  signal.addEventListener("abort", () => callbacks.delete(callback));
}

function tick() {
  current = new Date();
  if (!document.hidden) callbacks.forEach((callback) => callback());
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);

export function format(moment, options) {
  const locale = language === "zh" ? "zh-CN" : document.documentElement.lang || "en";
  const key = locale + JSON.stringify(options);
  if (!formatters.has(key)) {
    formatters.set(key, new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...options }));
  }
  return formatters.get(key).format(moment);
}

export const formatClock = (moment) => format(moment, { hour: "2-digit", minute: "2-digit" });

export const formatFull = (moment, timeZone = zone) =>
  format(moment, { dateStyle: "full", timeStyle: "short", timeZone }) + ` ${timeZone}`;

const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
const daysBetween = (from, to) => Math.round((midnight(to) - midnight(from)) / DAY);

export const sameDay = (one, other) => daysBetween(one, other) === 0;

/** Options that show the year, unless it is the current one. */
const year = (moment) => (moment.getFullYear() === now().getFullYear() ? {} : { year: "numeric" });

/** For the separator between days: `Today`, `Yesterday`, `Friday, 4 December`. */
export function formatDay(moment) {
  const days = daysBetween(now(), moment);
  if (days === 0) return t("today");
  if (days === -1) return t("yesterday");
  return format(moment, { weekday: "long", day: "numeric", month: "long", ...year(moment) });
}

const shortDay = (moment, days) =>
  format(moment, days < 7 ? { weekday: "short" } : { day: "numeric", month: "short" });

/** A time in the future: `in 11 min`, `today 17:30`, `tomorrow 09:00`, `Fri 08:00`, `17 Dec 09:00`. */
export function formatUpcoming(moment) {
  const left = moment - now();
  if (left <= 0) return t("now");
  if (left < HOUR) return t("in", { time: formatDistance(left) });
  const days = daysBetween(now(), moment);
  const day = days > 1 ? shortDay(moment, days) : t(days === 1 ? "tomorrow" : "today_at");
  return `${day} ${formatClock(moment)}`;
}

/** A time in the past, short enough for a list: `17:30`, `Fri`, `4 Dec`. */
export function formatPast(moment) {
  const days = daysBetween(moment, now());
  return days ? shortDay(moment, days) : formatClock(moment);
}

export const formatDayShort = (moment) =>
  format(moment, { weekday: "short", day: "numeric", month: "short" });

export const formatDate = (moment) =>
  format(moment, {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    ...year(moment),
  });

/** Dates in a row: the day is said again only when it is another one. */
export const formatDates = (moments, before = null) =>
  moments.map((moment, index) => {
    const last = index ? moments[index - 1] : before;
    return last && sameDay(last, moment) ? formatClock(moment) : formatDate(moment);
  });

/** The one or two largest units: `12 min`, `2 h 5 min`, `3 d`. */
export function formatDistance(ms) {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return t("seconds", { n: seconds });
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return t("minutes", { n: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return t("days", { n: Math.floor(hours / 24) }) + rest("hours", hours % 24);
  return t("hours", { n: hours }) + rest("minutes", minutes % 60);
}

const rest = (unit, n) => (n ? ` ${t(unit, { n })}` : "");

/** `11:42`, `1:02:03`; from a day on as a distance. */
export function formatCountdown(ms) {
  if (ms >= DAY) return formatDistance(ms);
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const h = Math.floor(seconds / 3600);
  const m = Math.floor(seconds / 60) % 60;
  const s = seconds % 60;
  const padded = (n) => String(n).padStart(2, "0");
  return h ? `${h}:${padded(m)}:${padded(s)}` : `${m}:${padded(s)}`;
}

export function formatDuration(ms) {
  if (ms == null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < MINUTE ? `${(ms / 1000).toFixed(1)} s` : formatDistance(ms);
}
