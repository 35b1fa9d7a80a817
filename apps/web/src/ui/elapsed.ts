import { countOf } from "./count.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * The locale of the user's system, for dates. `navigator.language` can be a tag that `Intl`
 * rejects.
 */
export function readerLocale(): string {
  return new Intl.DateTimeFormat().resolvedOptions().locale;
}

/**
 * How long ago `then` was, in words: "just now", "5 min ago", "yesterday"; a date if it was over 30
 * days ago. A time after `now` counts as now, because clocks differ slightly.
 */
export function describeElapsed(then: Date, now: Date): string {
  const elapsed = now.getTime() - then.getTime();
  if (elapsed < 10_000) return "just now";
  if (elapsed < minute) return `${Math.floor(elapsed / 1_000)} s ago`;
  if (elapsed < hour) return `${Math.floor(elapsed / minute)} min ago`;
  if (elapsed < day) return `${Math.floor(elapsed / hour)} h ago`;
  if (elapsed < 2 * day) return "yesterday";
  if (elapsed <= 30 * day) return `${Math.floor(elapsed / day)} days ago`;
  return then.toLocaleDateString(readerLocale(), { dateStyle: "medium" });
}

/** How long until `then`, in words: "in 5 min", "in 3 h"; "now" if it has passed. Rounds up. */
export function describeRemaining(then: Date, now: Date): string {
  const remaining = then.getTime() - now.getTime();
  if (remaining <= 0) return "now";
  if (remaining < minute) return `in ${Math.ceil(remaining / 1_000)} s`;
  if (remaining < hour) return `in ${Math.ceil(remaining / minute)} min`;
  if (remaining < day) return `in ${Math.ceil(remaining / hour)} h`;
  const days = Math.ceil(remaining / day);
  return `in ${countOf(days, "day", "days")}`;
}

/** The exact time in the user's time zone, with the zone. */
export function describeExactly(moment: Date): string {
  return moment.toLocaleString(readerLocale(), { dateStyle: "medium", timeStyle: "long" });
}

/** A duration in its largest whole unit: "90 seconds", "12 hours", "1 day". */
export function describeDuration(seconds: number): string {
  for (const [unit, length] of [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ] as const) {
    if (seconds >= length && seconds % length === 0) return countOf(seconds / length, unit, `${unit}s`);
  }
  return countOf(seconds, "second", "seconds");
}
