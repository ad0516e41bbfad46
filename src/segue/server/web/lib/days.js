// Days of a month at a glance: what ran on each of the last 30, what will run on each of the next 30. Pure.

export const SHOWN_DAYS = 30;
const DAY_MS = 86_400_000;
const BAD = new Set(["error", "interrupted", "missed"]);
const NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const startOfDay = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
const plusDays = (day, count) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + count);

/** The last days, today at the end: `{ day, count, failed, latestMs }` each. */
export function pastDays(runs, now = new Date()) {
  const first = plusDays(startOfDay(now), 1 - SHOWN_DAYS);
  const days = Array.from({ length: SHOWN_DAYS }, (_, index) => ({
    day: plusDays(first, index),
    count: 0,
    failed: 0,
    passed: 0,
    latestMs: 0,
  }));
  for (const run of runs) {
    const day = days[Math.round((startOfDay(new Date(run.slot)) - first) / DAY_MS)];
    if (!day) continue;
    day.count += 1;
    if (BAD.has(run.outcome)) day.failed += 1;
    if (run.outcome === "skipped" || run.outcome === "cancelled") day.passed += 1;
    if (run.started_at) day.latestMs = Math.max(day.latestMs, new Date(run.started_at) - new Date(run.slot));
  }
  return days;
}

/** The next days, today first: `{ day, count, names }` each. */
export function nextDays({ recall, jobs, messages }, now = new Date()) {
  const first = startOfDay(now);
  const days = Array.from({ length: SHOWN_DAYS }, (_, index) => ({
    day: plusDays(first, index),
    count: 0,
    names: [],
  }));
  const add = (name, countOn) => {
    for (const each of days) {
      const count = countOn(each.day);
      if (!count) continue;
      each.count += count;
      each.names.push(count > 1 ? `${name} ×${count}` : name);
    }
  };
  if (recall?.trigger_at) {
    const next = new Date(recall.trigger_at);
    add(recall.internal_comment || recall.additional_context_message, (day) =>
      onInterval(next, recall.interval_seconds, day),
    );
  }
  for (const job of jobs ?? []) {
    if (job.enabled && job.state?.next_run_at) add(job.name, (day) => jobOn(job, day));
  }
  for (const message of messages ?? []) {
    add(message.message_text, (day) => onInterval(new Date(message.send_at), null, day));
  }
  return days;
}

function jobOn(job, day) {
  const next = new Date(job.state.next_run_at);
  const { kind, every_seconds: seconds, expr, rrule, start } = job.schedule;
  if (kind === "rrule") return plusDays(day, 1) <= next ? 0 : ruleOn(rrule, startOfDay(new Date(start)), day);
  if (kind !== "cron") return onInterval(next, kind === "every" ? seconds : null, day);
  return plusDays(day, 1) <= next ? 0 : cronOn(expr, day);
}

/** How often something happens on a day that is next at `next`, and then every `seconds`. */
function onInterval(next, seconds, day) {
  const end = plusDays(day, 1);
  if (next >= end) return 0;
  if (!seconds) return next >= day ? 1 : 0;
  const until = (moment) => Math.max(0, Math.ceil((moment - next) / (seconds * 1000)));
  return until(end) - until(day);
}

const RULE_DAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/** How often a recurrence rule fires on a day. Of its parts only those that words are read as. */
export function ruleOn(rule, start, day) {
  const parts = Object.fromEntries(rule.split(";").map((part) => part.split("=")));
  const list = (name) => parts[name]?.split(",") ?? [];
  const weekday = (moment) => RULE_DAYS[moment.getDay()];
  const days = Math.round((day - start) / DAY_MS);
  const weeks = Math.floor((days + ((start.getDay() + 6) % 7)) / 7);
  const months = (day.getFullYear() - start.getFullYear()) * 12 + day.getMonth() - start.getMonth();
  const passed = { DAILY: days, WEEKLY: weeks, MONTHLY: months, YEARLY: months / 12 }[parts.FREQ];
  if (days < 0 || passed % Number(parts.INTERVAL ?? 1)) return 0;
  const wanted = parts.FREQ === "WEEKLY" && !parts.BYDAY ? [weekday(start)] : list("BYDAY");
  if (wanted.length && !wanted.includes(weekday(day))) return 0;
  if (!wanted.length && parts.FREQ !== "DAILY" && day.getDate() !== start.getDate()) return 0;
  return list("BYSETPOS").length || (list("BYHOUR").length || 1) * (list("BYMINUTE").length || 1);
}

/** How often a cron line fires on a day. */
export function cronOn(expr, day) {
  const [minute, hour, date, month, weekday] = expr.toLowerCase().trim().split(/\s+/);
  const dates = matches(date, day.getDate(), 1, 31);
  const isSunday = day.getDay() === 0;
  const weekdays =
    matches(weekday, day.getDay(), 0, 7, NAMES) ||
    (isSunday && matches(weekday, 7, 0, 7)) ||
    isNth(weekday, day);
  const either = date !== "*" && weekday !== "*";
  if (!matches(month, day.getMonth() + 1, 1, 12, ["", ...MONTHS])) return 0;
  if (either ? !dates && !weekdays : !dates || !weekdays) return 0;
  return sizeOf(minute, 0, 59) * sizeOf(hour, 0, 23);
}

/** `1#2` is the second monday of a month, `5L` its last friday. */
function isNth(field, day) {
  const [, of, nth] = /^([0-7])(?:#([1-5])|l)$/.exec(field) ?? [];
  if (!of || Number(of) % 7 !== day.getDay()) return false;
  return nth ? Math.ceil(day.getDate() / 7) === Number(nth) : plusDays(day, 7).getMonth() !== day.getMonth();
}

const sizeOf = (field, least, most) => {
  let size = 0;
  for (let value = least; value <= most; value += 1) size += matches(field, value, least, most) ? 1 : 0;
  return size;
};

/** Whether a field of a cron line names the value: `*`, `5`, `1-5`, `mon,wed`, `0-30/10`. */
function matches(field, value, least, most, names = []) {
  const number = (word) => (names.includes(word) && word ? names.indexOf(word) : Number(word));
  return field.split(",").some((part) => {
    const [range, step = "1"] = part.split("/");
    const [from, to] = range === "*" ? [least, most] : range.split("-").map(number);
    const last = to ?? (part.includes("/") ? most : from);
    return value >= from && value <= last && (value - from) % Number(step) === 0;
  });
}
