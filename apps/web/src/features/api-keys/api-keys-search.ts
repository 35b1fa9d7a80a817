/** What the address of the API keys page says: the search, the page, and whether the dialog for a new key is open. */
export interface ApiKeysSearch {
  readonly q?: string;
  /** From 2 on; the first page goes without. */
  readonly page?: number;
  readonly dialog?: "new";
}

/** Reads the search part of the address; what makes no sense there is dropped. */
export function parseApiKeysSearch(search: Record<string, unknown>): ApiKeysSearch {
  const page = Number(search.page);
  return {
    ...(typeof search.q === "string" && search.q.trim() !== "" && { q: search.q }),
    ...(Number.isSafeInteger(page) && page > 1 && { page }),
    ...(search.dialog === "new" && { dialog: "new" }),
  };
}
