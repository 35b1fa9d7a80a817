import { parsePage } from "../../ui/table-search.ts";
import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-ranges.ts";

/** The search part of the URL of a key's page. */
export interface KeyPageSearch extends UsageRangeSearch {
  /** Opens the form for the restrictions. */
  readonly edit?: "restrictions";
  /** The reason that the list of rejected requests is filtered by. */
  readonly reason?: string;
  /** The page of the list of rejected requests; at least 2. */
  readonly page?: number;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseKeyPageSearch(search: Record<string, unknown>): KeyPageSearch {
  const { edit, reason } = search;
  return {
    ...parseUsageRange(search),
    ...(edit === "restrictions" && { edit }),
    // Any reason: the server can be newer than this page.
    ...(typeof reason === "string" && /^[a-z-]{1,40}$/.test(reason) && { reason }),
    ...parsePage(search),
  };
}
