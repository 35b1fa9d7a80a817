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
 * How long ago `then` was, in words: "just now", "5 min ago", "1 day ago"; a date if it was over 30
 * days ago. Rounds down. A time after `now` counts as now, because clocks differ slightly.
 */
export function describeElapsed(then: Date, now: Date): string {
  const elapsed = now.getTime() - then.getTime();
  if (elapsed < 10_000) return "just now";
  if (elapsed > 30 * day) return then.toLocaleDateString(readerLocale(), { dateStyle: "medium" });
  return `${inLargestUnit(elapsed, Math.floor)} ago`;
}

/** How long until `then`, in words: "in 5 min", "in 3 h"; "now" if it has passed. Rounds up. */
export function describeRemaining(then: Date, now: Date): string {
  const remaining = then.getTime() - now.getTime();
  return remaining <= 0 ? "now" : `in ${inLargestUnit(remaining, Math.ceil)}`;
}

/** A duration in the largest unit of which it has at least one after rounding, so that nobody reads "60 min". */
function inLargestUnit(milliseconds: number, round: (count: number) => number): string {
  const [seconds, minutes, hours] = [
    round(milliseconds / 1_000),
    round(milliseconds / minute),
    round(milliseconds / hour),
  ];
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min`;
  if (hours < 24) return `${hours} h`;
  return countOf(round(milliseconds / day), "day", "days");
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
