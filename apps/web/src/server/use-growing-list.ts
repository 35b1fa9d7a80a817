import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { GrowingList } from "../ui/growing-table.tsx";
import { describeFailure } from "./failure.ts";
import { useLoadingFailure } from "./use-loading-failure.ts";

/** The list that the pages of a query form. */
export function useGrowingList<Item>(
  query: UseInfiniteQueryResult<InfiniteData<{ readonly items: readonly Item[] }>, unknown>,
): GrowingList<Item> {
  const failure = useLoadingFailure(query);
  return {
    items: query.data?.pages.flatMap(({ items }) => items),
    isStale: query.isPlaceholderData,
    failure,
    isRetrying: query.isFetching,
    onRetry: () => void query.refetch(),
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    moreFailure: query.isFetchNextPageError
      ? `Couldn’t load more. ${describeFailure(query.error).message}`
      : undefined,
    onShowMore: () => void query.fetchNextPage(),
  };
}
