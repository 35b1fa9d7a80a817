import type { ReactElement } from "react";
import { countOf, formatCount } from "./count.ts";
import { describeLogCount, describePart } from "./describe-results.ts";
import { ListTable, type ListTableProps, type LoadedList } from "./list-table.tsx";
import { omitRepeated } from "./omit-repeated.ts";
import { ShowMore } from "./show-more.tsx";
import { listPageSize, pageSizes } from "./table-search.ts";

/** The items of a list that have been loaded, and how to load more at its end. */
export interface GrowingList<Item> extends LoadedList<Item> {
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  /** Why more items failed to load. */
  readonly moreFailure: string | undefined;
  readonly onShowMore: () => void;
}

interface GrowingTableProps<Item> extends ListTableProps<Item> {
  readonly list: GrowingList<Item>;
  /** Such as "member" and "members". */
  readonly nouns: readonly [string, string];
  /** The number of results, "uncounted" if it is unknown, or "log" for a log. */
  readonly total: number | "uncounted" | "log";
}

/** A list to which the user adds items at the end, because its pages are read with a cursor. */
export function GrowingTable<Item extends object>(props: GrowingTableProps<Item>): ReactElement {
  const { nouns, total, ...table } = props;
  const { list, search, navigation, idOf } = table;
  const items = list.items && omitRepeated(list.items, idOf);
  const shownCount = items?.length ?? 0;
  const part =
    total === "log"
      ? describeLogCount(shownCount, list.hasMore, search, nouns)
      : describePart(shownCount, list.hasMore, nouns);
  const isCounted = typeof total === "number";
  return (
    <ListTable {...table} list={{ ...list, items }} results={isCounted ? countOf(total, ...nouns) : part}>
      {items && (list.hasMore || shownCount > pageSizes[0]) && (
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
          {isCounted ? `${formatCount(shownCount)} of ${countOf(total, ...nouns)}` : part}
        </ShowMore>
      )}
    </ListTable>
  );
}
