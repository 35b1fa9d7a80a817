import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { type ApiKeysSearch, toQuery } from "./api-keys-search.ts";

const refreshMilliseconds = 2_000;

/** The query for one page of the user's keys. */
export function apiKeysQuery(search: ApiKeysSearch) {
  return trpc.apiKeys.list.queryOptions(toQuery(search));
}

/**
 * Loads one page of the user's keys, and refetches it while the page is visible to keep counts up
 * to date.
 */
export function useApiKeys(search: ApiKeysSearch) {
  return useQuery({
    ...apiKeysQuery(search),
    ...refreshEvery(refreshMilliseconds),
    placeholderData: keepPreviousData,
  });
}
