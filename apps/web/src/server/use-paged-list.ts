import type { UseQueryResult } from "@tanstack/react-query";
import type { LoadedList } from "../ui/list-table.tsx";
import { useListFailure } from "./use-loading-failure.ts";

/** The list of which a query has loaded one page. */
export function usePagedList<Item>(
  query: UseQueryResult<{ readonly items: readonly Item[] }, unknown>,
): LoadedList<Item> {
  return {
    items: query.data?.items,
    isStale: query.isPlaceholderData,
    failure: useListFailure(query),
  };
}
