import { parseRejectionsSearch, type RejectionsSearch } from "../../ui/rejections-search.ts";
import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-range-search.ts";

/** The search part of the URL of a key's page. */
export interface KeyPageSearch extends UsageRangeSearch, RejectionsSearch {
  /** Opens the form for the restrictions. */
  readonly edit?: "restrictions";
  /** The field of this form that gets the focus; the first one by default. */
  readonly field?: string;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseKeyPageSearch(search: Record<string, unknown>): KeyPageSearch {
  const { edit, field } = search;
  return {
    ...parseUsageRange(search),
    ...parseRejectionsSearch(search),
    ...(edit === "restrictions" && { edit }),
    ...(typeof field === "string" && /^[a-zA-Z]{1,20}$/.test(field) && { field }),
  };
}
