import type { KeyUsage } from "../../server/trpc.ts";
import { readerLocale } from "../../ui/elapsed.ts";
import type { OutcomeBar } from "../../ui/outcome-chart.tsx";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The stretches of time that usage is shown of. */
export const usageRanges = {
  "24h": { label: "24 hours", bucket: "hour", count: 24, stepMs: hourMs },
  "7d": { label: "7 days", bucket: "day", count: 7, stepMs: dayMs },
  "30d": { label: "30 days", bucket: "day", count: 30, stepMs: dayMs },
  "90d": { label: "90 days", bucket: "day", count: 90, stepMs: dayMs },
} as const;

export type UsageRange = keyof typeof usageRanges;

export const usageRangeNames = Object.keys(usageRanges) as readonly UsageRange[]; // The table's keys.

/** What the address of a key's page says. */
export interface KeyPageSearch {
  /** Other than 24 hours. */
  readonly range?: Exclude<UsageRange, "24h">;
}

/** Reads the search part of the address; what makes no sense there is dropped. */
export function parseKeyPageSearch({ range }: Record<string, unknown>): KeyPageSearch {
  return range === "7d" || range === "30d" || range === "90d" ? { range } : {};
}

/** When each bucket of a range begins; the last one is the one that `now` is in. Hours and days are those of UTC. */
export function bucketStarts(range: UsageRange, now: Date): readonly Date[] {
  const { count, stepMs } = usageRanges[range];
  const last = Math.floor(now.getTime() / stepMs) * stepMs;
  return Array.from({ length: count }, (_, place) => new Date(last - (count - 1 - place) * stepMs));
}

/** What to ask the API for, to fill these buckets. */
export function usagePeriod(range: UsageRange, now: Date) {
  const { bucket, count, stepMs } = usageRanges[range];
  const [from = now] = bucketStarts(range, now);
  return {
    from: from.toISOString(),
    to: new Date(from.getTime() + count * stepMs).toISOString(),
    bucket,
  } as const;
}

/** The bars of a range, those of quiet hours too. */
export function toBars(rows: readonly KeyUsage[], range: UsageRange, now: Date): readonly OutcomeBar[] {
  const { bucket } = usageRanges[range];
  const counts = new Map<number, { admitted: number; limited: number; refused: number }>();
  for (const { startsAt, outcome, count } of rows) {
    const start = Date.parse(startsAt);
    const bar = counts.get(start) ?? { admitted: 0, limited: 0, refused: 0 };
    bar[kindOf(outcome)] += count;
    counts.set(start, bar);
  }
  return bucketStarts(range, now).map((start) => ({
    id: start.toISOString(),
    title: bucket === "hour" ? hourTitle(start) : dayTitle.format(start),
    tick: bucket === "hour" ? hourTick.format(start) : dayTick.format(start),
    ...(counts.get(start.getTime()) ?? { admitted: 0, limited: 0, refused: 0 }),
  }));
}

/** How many requests were not let in, by why, the most frequent first. */
export function countRefusals(rows: readonly KeyUsage[]): readonly { outcome: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { outcome, count } of rows) {
    if (outcome !== "admitted") counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  }
  return [...counts].map(([outcome, count]) => ({ outcome, count })).sort((a, b) => b.count - a.count);
}

function kindOf(outcome: string): "admitted" | "limited" | "refused" {
  return outcome === "admitted" || outcome === "limited" ? outcome : "refused";
}

const locale = readerLocale();
const hourTick = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const hourOfDay = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short" });
const dayTick = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
const dayTitle = new Intl.DateTimeFormat(locale, {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

function hourTitle(start: Date): string {
  const end = new Date(start.getTime() + hourMs);
  return `${hourOfDay.format(start)}, ${hourTick.format(start)}–${hourTick.format(end)}`;
}
