import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { GrowingList } from "../ui/growing-table.tsx";
import { describeFailure } from "./failure.ts";
import { useListFailure } from "./use-loading-failure.ts";

/** The list that the pages of a query form. */
export function useGrowingList<Item>(
  query: UseInfiniteQueryResult<InfiniteData<{ readonly items: readonly Item[] }>, unknown>,
): GrowingList<Item> {
  return {
    items: query.data?.pages.flatMap(({ items }) => items),
    isStale: query.isPlaceholderData,
    failure: useListFailure(query),
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    moreFailure: query.isFetchNextPageError
      ? `Couldn’t load more. ${describeFailure(query.error).message}`
      : undefined,
    onShowMore: () => void query.fetchNextPage(),
  };
}
