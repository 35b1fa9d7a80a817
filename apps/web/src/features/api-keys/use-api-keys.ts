import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed } from "../../server/use-loading-failure.ts";
import type { ApiKeysSearch } from "./api-keys-search.ts";

export const pageSize = 25;
const refreshMilliseconds = 2_000;

/** One page of the person's keys, newest first. */
export function apiKeysQuery({ q, page = 1 }: ApiKeysSearch) {
  return trpc.apiKeys.list.queryOptions({ ...(q !== undefined && { search: q }), page, pageSize });
}

/** The same, refreshed while the page is in view, so that counts rise by themselves. */
export function useApiKeys(search: ApiKeysSearch) {
  return useQuery({
    ...apiKeysQuery(search),
    refetchInterval: (query) => !isLoadingFailed(query.state) && refreshMilliseconds,
    placeholderData: keepPreviousData,
  });
}

/** The number of the last page of so many keys, at least 1. */
export function findLastPage(total: number): number {
  return Math.max(1, Math.ceil(total / pageSize));
}
