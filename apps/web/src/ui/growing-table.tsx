import type { ReactElement } from "react";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { FailurePanel } from "./failure-panel.tsx";
import { ShowMore } from "./show-more.tsx";
import { listPageSize, pageSizes, readColumns, type TableSearch, writeSort } from "./table-search.ts";
import type { TableNavigation } from "./use-table-navigation.ts";

/** The items of a list that have been loaded, and how to load more at its end. */
export interface GrowingList<Item> {
  /** Undefined while the first items load. */
  readonly items: readonly Item[] | undefined;
  /** Whether `items` are results of the previous search while the current one loads. */
  readonly isStale: boolean;
  /** Why there are no items. */
  readonly failure: { readonly message: string; readonly requestId: string | undefined } | undefined;
  readonly isRetrying: boolean;
  readonly onRetry: () => void;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  /** Why more items failed to load. */
  readonly moreFailure: string | undefined;
  readonly onShowMore: () => void;
}

interface GrowingTableProps<Item, Search extends TableSearch>
  extends Omit<DataTableProps<Item>, "items" | "isStale" | "chosen" | "onSort"> {
  readonly list: GrowingList<Item>;
  /** Such as "Couldn’t load members". */
  readonly failureTitle: string;
  /** Replaces the table if the list has no items. */
  readonly empty: ReactElement;
  readonly search: Search;
  readonly navigation: TableNavigation<TableSearch>;
  /** The order that is absent from the URL; absent if the list can't be sorted. */
  readonly defaultSort?: string;
  /** How many items are shown, such as "50 of 120 members". */
  readonly count: string;
}

/** A table to which the user adds items at the end, because its pages are read with a cursor. */
export function GrowingTable<Item extends object, Search extends TableSearch>(
  props: GrowingTableProps<Item, Search>,
): ReactElement {
  const { list, failureTitle, empty, search, navigation, defaultSort, count, ...table } = props;
  const { items, failure } = list;
  if (failure) {
    return (
      <FailurePanel
        title={failureTitle}
        message={failure.message}
        requestId={failure.requestId}
        isRetrying={list.isRetrying}
        onRetry={list.onRetry}
      />
    );
  }
  if (items?.length === 0 && !list.isStale) return empty;
  return (
    <>
      <DataTable
        {...table}
        items={items}
        isStale={list.isStale}
        chosen={readColumns(search)}
        {...(defaultSort !== undefined && {
          sort: search.sort ?? defaultSort,
          onSort: (next: string) => navigation.change({ sort: writeSort(next, search.sort, defaultSort) }),
        })}
      />
      {items && (list.hasMore || items.length > pageSizes[0]) && (
        <ShowMore
          hasMore={list.hasMore}
          isLoading={list.isLoadingMore}
          failure={list.moreFailure}
          pageSize={{
            size: search.size ?? listPageSize,
            onChange: (size) => navigation.change({ size: size === listPageSize ? undefined : size }),
          }}
          onShowMore={list.onShowMore}
        >
          {count}
        </ShowMore>
      )}
    </>
  );
}
