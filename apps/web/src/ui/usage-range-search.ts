/** The range in the URL of a page with a chart; absent for the default, 24 hours. */
export interface UsageRangeSearch {
  readonly range?: "7d" | "30d" | "90d";
}

/** Parses the range in a URL, and drops invalid values. */
export function parseUsageRange({ range }: Record<string, unknown>): UsageRangeSearch {
  return range === "7d" || range === "30d" || range === "90d" ? { range } : {};
}
