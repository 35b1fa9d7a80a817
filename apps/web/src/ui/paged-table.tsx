import type { ReactElement } from "react";
import { describeResults } from "./describe-results.ts";
import { ListTable, type ListTableProps } from "./list-table.tsx";
import { TableFooter } from "./table-footer.tsx";
import type { PageSize } from "./table-search.ts";

interface PagedTableProps<Item> extends ListTableProps<Item> {
  /** Such as "key" and "keys". */
  readonly nouns: readonly [string, string];
  /** The number of items on all pages. */
  readonly total: number;
  /** The page size that is absent from the URL. */
  readonly defaultSize: PageSize;
  /** Replaces the number of results, such as while the list can't be refreshed. */
  readonly status?: string | undefined;
}

/** A list of which one page is shown at a time. */
export function PagedTable<Item extends object>(props: PagedTableProps<Item>): ReactElement {
  const { nouns, total, defaultSize, status, ...table } = props;
  const { search, navigation } = table;
  const { page = 1, size = defaultSize } = search;
  return (
    <ListTable {...table} results={status ?? describeResults({ page, size, total }, ...nouns)}>
      <TableFooter
        page={page}
        size={size}
        total={total}
        onPageChange={navigation.openPage}
        onSizeChange={(next) => navigation.change({ size: next === defaultSize ? undefined : next })}
      />
    </ListTable>
  );
}
