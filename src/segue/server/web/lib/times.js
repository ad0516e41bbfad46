// Times as the viewer reads them: in their zone, near ones by distance, far ones by date.

import { language, t } from "./words.js";

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const made = new Map();

export function format(moment, options) {
  const locale = language === "zh" ? "zh-CN" : document.documentElement.lang || "en";
  const key = locale + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...options }));
  return made.get(key).format(moment);
}

export const clock = (moment) => format(moment, { hour: "2-digit", minute: "2-digit" });

export const whole = (moment, timeZone = zone) =>
  format(moment, { dateStyle: "full", timeStyle: "short", timeZone }) + ` ${timeZone}`;

const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
const daysBetween = (from, to) => Math.round((midnight(to) - midnight(from)) / DAY);

export const sameDay = (one, other) => daysBetween(one, other) === 0;

const year = (moment, now = new Date()) => (moment.getFullYear() === now.getFullYear() ? {} : { year: "numeric" });

/** A day's name for a separator. */
export function day(moment, now = new Date()) {
  const away = daysBetween(now, moment);
  if (away === 0) return t("today");
  if (away === -1) return t("yesterday");
  return format(moment, { weekday: "long", day: "numeric", month: "long", ...year(moment, now) });
}

const shortDay = (moment, away) => format(moment, away < 7 ? { weekday: "short" } : { day: "numeric", month: "short" });

/** When something will be: `in 11 min`, `today 17:30`, `tomorrow 09:00`, `Fri 08:00`, `17 Dec 09:00`. */
export function coming(moment, now = new Date()) {
  const left = moment - now;
  if (left <= 0) return t("now");
  if (left < HOUR) return t("in", { time: distance(left) });
  const away = daysBetween(now, moment);
  return `${away > 1 ? shortDay(moment, away) : t(away ? "tomorrow" : "today_at")} ${clock(moment)}`;
}

/** When something was, in as few letters as a list has room for. */
export function ago(moment, now = new Date()) {
  const away = daysBetween(moment, now);
  return away ? shortDay(moment, away) : clock(moment);
}

export const date = (moment) =>
  format(moment, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", ...year(moment) });

/** The one or two largest units: `12 min`, `2 h 5 min`, `3 d`. */
export function distance(ms) {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return t("seconds", { n: seconds });
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return t("minutes", { n: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return t("days", { n: Math.floor(hours / 24) }) + rest("hours", hours % 24);
  return t("hours", { n: hours }) + rest("minutes", minutes % 60);
}

const rest = (unit, n) => (n ? ` ${t(unit, { n })}` : "");

/** `11:42`, `1:02:03`; beyond a day by distance. */
export function countdown(ms) {
  if (ms >= DAY) return distance(ms);
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

export function took(ms) {
  if (ms == null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < MINUTE ? `${(ms / 1000).toFixed(1)} s` : distance(ms);
}

const ticking = new Set();
let ticks;

/** Call it every second for as long as the signal has not been given. */
export function everySecond(work, signal) {
  ticking.add(work);
  signal.addEventListener("abort", () => ticking.delete(work));
  ticks ??= setInterval(() => document.hidden || ticking.forEach((each) => each()), 1000);
}
