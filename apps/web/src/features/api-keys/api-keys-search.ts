import { maxLength } from "@latchkey/limits";

/** What the API takes at most. */
const pageMax = 100_000;

/** What the address of the API keys page says: the search, the page, and whether the dialog for a new key is open. */
export interface ApiKeysSearch {
  readonly q?: string;
  /** From 2 on; the first page goes without. */
  readonly page?: number;
  readonly dialog?: "new";
}

/** Reads the search part of the address; what makes no sense there is dropped. */
export function parseApiKeysSearch(search: Record<string, unknown>): ApiKeysSearch {
  const page = Math.min(Number(search.page), pageMax);
  // Half a pair of units may be left at the end, which no address can hold.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  return {
    ...(q.trim() !== "" && { q }),
    ...(Number.isSafeInteger(page) && page > 1 && { page }),
    ...(search.dialog === "new" && { dialog: "new" }),
  };
}
