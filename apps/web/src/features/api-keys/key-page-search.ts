import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-ranges.ts";

/** The search part of the URL of a key's page. */
export interface KeyPageSearch extends UsageRangeSearch {
  /** Opens the form for the restrictions. */
  readonly edit?: "restrictions";
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseKeyPageSearch(search: Record<string, unknown>): KeyPageSearch {
  return { ...parseUsageRange(search), ...(search.edit === "restrictions" && { edit: search.edit }) };
}
