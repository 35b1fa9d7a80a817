import { useEffect } from "react";
import type { GrowingList } from "../../ui/growing-table.tsx";

/**
 * With a search or filters that match few items, a page can be empty although later ones are not: each request examines a
 * part of the list. Loads pages until one has items. Until then, it isn't known whether anything matches: if a page fails to
 * load, the list shows the failure.
 */
export function useExaminedList<Item>(list: GrowingList<Item>): GrowingList<Item> {
  const { items, hasMore, isStale, isLoadingMore, moreFailure, onShowMore } = list;
  const isIncomplete = items?.length === 0 && hasMore && !isStale;
  const isSearching = isIncomplete && moreFailure === undefined;
  useEffect(() => {
    if (isSearching && !isLoadingMore) onShowMore();
  }, [isSearching, isLoadingMore, onShowMore]);
  if (isSearching) return { ...list, items: undefined };
  if (!isIncomplete || moreFailure === undefined) return list;
  const failure = {
    message: moreFailure,
    requestId: undefined,
    isRetrying: isLoadingMore,
    onRetry: onShowMore,
  };
  return { ...list, items: undefined, failure: list.failure ?? failure };
}
