import { readerLocale } from "./elapsed.ts";
import type { OutcomeBar } from "./outcome-chart.tsx";
import type { UsageRange } from "./usage-ranges.ts";

const hourMs = 3_600_000;

/**
 * Returns the start of each bucket of a range, in ascending order. The last bucket contains `now`.
 * Days are in the user's time zone. Hours are in UTC, so in a time zone with a half-hour offset
 * they start at half past.
 */
export function bucketStarts({ bucket, count }: UsageRange, now: Date): readonly Date[] {
  return Array.from({ length: count }, (_, index) => startOfBucket(bucket, now, count - 1 - index));
}

function startOfBucket(bucket: "hour" | "day", now: Date, bucketsAgo: number): Date {
  if (bucket === "hour") return new Date((Math.floor(now.getTime() / hourMs) - bucketsAgo) * hourMs);
  // A day has 23 or 25 hours when daylight saving time begins or ends.
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - bucketsAgo);
}

/** The bucket starts and the end of a range to request from the API, in seconds since 1970. */
export function usageBuckets(range: UsageRange, now: Date): { starts: number[]; to: number } {
  const toSeconds = (time: Date) => Math.floor(time.getTime() / 1_000);
  return {
    starts: bucketStarts(range, now).map(toSeconds),
    to: toSeconds(startOfBucket(range.bucket, now, -1)),
  };
}

/** How many requests or verifications had one outcome in one bucket. */
export interface UsageRow {
  readonly startsAt: string;
  readonly outcome: string;
  readonly count: number;
}

/** The bars of a range, including empty ones. */
export function toBars(rows: readonly UsageRow[], range: UsageRange, now: Date): readonly OutcomeBar[] {
  const { bucket } = range;
  const counts = new Map<number, { admitted: number; limited: number; rejected: number }>();
  for (const { startsAt, outcome, count } of rows) {
    const start = Date.parse(startsAt);
    const bar = counts.get(start) ?? { admitted: 0, limited: 0, rejected: 0 };
    bar[kindOf(outcome)] += count;
    counts.set(start, bar);
  }
  return bucketStarts(range, now).map((start) => ({
    id: start.toISOString(),
    title: bucket === "hour" ? hourTitle(start) : dayTitle.format(start),
    tick: bucket === "hour" ? hourTick.format(start) : dayTick.format(start),
    ...(counts.get(start.getTime()) ?? { admitted: 0, limited: 0, rejected: 0 }),
  }));
}

/** The number of rejected requests or verifications by reason, the most frequent reason first. */
export function countRejections(rows: readonly UsageRow[]): readonly { outcome: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { outcome, count } of rows) {
    if (kindOf(outcome) === "rejected") counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  }
  return [...counts].map(([outcome, count]) => ({ outcome, count })).sort((a, b) => b.count - a.count);
}

/** The outcomes that are not rejections: of requests in lower case, of verifications in upper case. */
const kinds: Readonly<Record<string, "admitted" | "limited">> = {
  admitted: "admitted",
  limited: "limited",
  VALID: "admitted",
  CHECKED: "admitted",
  RATE_LIMITED: "limited",
};

/** Which color an outcome has in a chart. An outcome that is unknown to this version counts as rejected. */
function kindOf(outcome: string): "admitted" | "limited" | "rejected" {
  return kinds[outcome] ?? "rejected";
}

const locale = readerLocale();
const hourTick = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
const hourOfDay = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short" });
const dayTick = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const dayTitle = new Intl.DateTimeFormat(locale, {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
});

function hourTitle(start: Date): string {
  const end = new Date(start.getTime() + hourMs);
  return `${hourOfDay.format(start)}, ${hourTick.format(start)}–${hourTick.format(end)}`;
}
