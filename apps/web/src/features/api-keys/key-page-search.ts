import { type PageSize, parseTableSearch, type TableSearch } from "../../ui/table-search.ts";
import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-ranges.ts";

/**
 * The search part of the URL of a key's page, with the columns, the page and the page size of the list of rejected
 * requests.
 */
export interface KeyPageSearch extends UsageRangeSearch, Pick<TableSearch, "columns" | "page" | "size"> {
  /** Opens the form for the restrictions. */
  readonly edit?: "restrictions";
  /** The field of this form that gets the focus; the first one by default. */
  readonly field?: string;
  /** The reason that the list of rejected requests is filtered by. */
  readonly reason?: string;
}

/** The page size of the list of rejected requests that is absent from the URL. */
export const defaultRejectionsSize = 10 satisfies PageSize;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseKeyPageSearch(search: Record<string, unknown>): KeyPageSearch {
  const { edit, field, reason } = search;
  const { columns, page, size } = parseTableSearch(search, {
    orders: [],
    defaultSort: "",
    defaultSize: defaultRejectionsSize,
  });
  return {
    ...parseUsageRange(search),
    ...(edit === "restrictions" && { edit }),
    ...(typeof field === "string" && /^[a-zA-Z]{1,20}$/.test(field) && { field }),
    // Any reason: the server can be newer than this page.
    ...(typeof reason === "string" && /^[a-z-]{1,40}$/.test(reason) && { reason }),
    ...(columns !== undefined && { columns }),
    ...(page !== undefined && { page }),
    ...(size !== undefined && { size }),
  };
}
