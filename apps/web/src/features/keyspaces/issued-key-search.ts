import { parseRejectionsSearch, type RejectionsSearch } from "../../ui/rejections-search.ts";
import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-range-search.ts";

/** The search part of the URL of an issued key's page. */
export interface IssuedKeySearch extends UsageRangeSearch, RejectionsSearch {
  /** Which changes to the key are shown; absent for all. */
  readonly changes?: "credits";
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseIssuedKeySearch(search: Record<string, unknown>): IssuedKeySearch {
  return {
    ...parseUsageRange(search),
    ...parseRejectionsSearch(search),
    ...(search.changes === "credits" && { changes: "credits" }),
  };
}
