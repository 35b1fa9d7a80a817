/** The periods that usage can be shown for. */
export const usageRanges = {
  "24h": { label: "24 hours", bucket: "hour", count: 24 },
  "7d": { label: "7 days", bucket: "day", count: 7 },
  "30d": { label: "30 days", bucket: "day", count: 30 },
  "90d": { label: "90 days", bucket: "day", count: 90 },
} as const;

export type UsageRange = keyof typeof usageRanges;

export const usageRangeNames = Object.keys(usageRanges) as readonly UsageRange[]; // Its keys.

/** The range in the URL of a page with a chart; absent for the default, 24 hours. */
export interface UsageRangeSearch {
  readonly range?: Exclude<UsageRange, "24h">;
}

/** Parses the range in a URL, and drops invalid values. */
export function parseUsageRange({ range }: Record<string, unknown>): UsageRangeSearch {
  return range === "7d" || range === "30d" || range === "90d" ? { range } : {};
}
