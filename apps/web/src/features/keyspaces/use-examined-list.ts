import { useEffect } from "react";
import type { GrowingList } from "../../ui/growing-table.tsx";

/**
 * With a search or filters that match few items, a page can be empty although later ones are not: each request examines a
 * part of the list. Loads pages until one has items.
 */
export function useExaminedList<Item>(list: GrowingList<Item>): GrowingList<Item> {
  const { items, hasMore, isStale, isLoadingMore, moreFailure, onShowMore } = list;
  const isSearching = items?.length === 0 && hasMore && !isStale && moreFailure === undefined;
  useEffect(() => {
    if (isSearching && !isLoadingMore) onShowMore();
  }, [isSearching, isLoadingMore, onShowMore]);
  return isSearching ? { ...list, items: undefined } : list;
}
