/** A period that usage can be shown for. It ends with the current hour or day. */
export interface UsageRange {
  /** Its name in URLs. */
  readonly name: "24h" | "7d" | "30d" | "90d";
  readonly label: string;
  readonly bucket: "hour" | "day";
  readonly count: number;
}

const hours: UsageRange = { name: "24h", label: "24 hours", bucket: "hour", count: 24 };
const daysOf = { "7d": 7, "30d": 30, "90d": 90 } as const;

/**
 * Lists the periods of an instance that keeps counts for `historyDays`. None is longer: the last one is cut, so that an empty chart
 * doesn't claim that nothing happened in days whose counts were deleted.
 */
export function listUsageRanges(historyDays: number): readonly UsageRange[] {
  const ranges = [hours];
  let covered = 1;
  for (const [name, days] of Object.entries(daysOf) as [keyof typeof daysOf, number][]) {
    if (covered >= historyDays) break;
    covered = Math.min(days, historyDays);
    ranges.push({ name, label: `${covered} days`, bucket: "day", count: covered });
  }
  return ranges;
}
