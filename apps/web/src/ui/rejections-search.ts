import { type PageSize, parseTableSearch, type TableSearch } from "./table-search.ts";

/** The state of a list of rejected requests or verifications in the URL of its page. */
export interface RejectionsSearch extends Pick<TableSearch, "columns" | "page" | "size"> {
  /** The reason that the list is filtered by. */
  readonly reason?: string;
}

/** The page size that is absent from the URL. */
export const defaultRejectionsSize = 10 satisfies PageSize;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseRejectionsSearch(search: Record<string, unknown>): RejectionsSearch {
  const { columns, page, size } = parseTableSearch(search, {
    orders: [],
    defaultSort: "",
    defaultSize: defaultRejectionsSize,
  });
  const { reason } = search;
  return {
    // Any reason: the server can be newer than this page.
    ...(typeof reason === "string" && /^[a-zA-Z_-]{1,40}$/.test(reason) && { reason }),
    ...(columns !== undefined && { columns }),
    ...(page !== undefined && { page }),
    ...(size !== undefined && { size }),
  };
}
