import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed } from "../../server/use-loading-failure.ts";
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
    refetchInterval: (query) => !isLoadingFailed(query.state) && refreshMilliseconds,
    placeholderData: keepPreviousData,
  });
}
