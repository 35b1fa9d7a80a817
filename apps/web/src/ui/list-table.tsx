import type { ReactElement, ReactNode } from "react";
import { DataTable } from "./data-table.tsx";
import type { DataTableProps } from "./data-table-props.ts";
import { FailurePanel, type FailurePanelProps } from "./failure-panel.tsx";
import { readColumns, readSelected, writeSort } from "./table-search.ts";
import { TableToolbar, type TableToolbarProps } from "./table-toolbar.tsx";

/** The items of a list that are shown. */
export interface LoadedList<Item> {
  /** Undefined while the first items load. */
  readonly items: readonly Item[] | undefined;
  /** Whether `items` are results of the previous search while the current one loads. */
  readonly isStale: boolean;
  /** Why there are no items. */
  readonly failure: Omit<FailurePanelProps, "title"> | undefined;
}

/** The selection of rows, whose IDs are in the URL. */
export interface ListSelection<Item> {
  /** The name of an item for screen readers. */
  readonly nameOf: (item: Item) => string;
  /** Why a row can't be selected; undefined if it can. Must be the same function at each render. */
  readonly blockedReason?: (item: Item) => string | undefined;
  /** Renders the actions for the selected items. */
  readonly bar: (items: readonly Item[], onSelect: (items: readonly Item[]) => void) => ReactNode;
}

export interface ListTableProps<Item>
  extends Omit<DataTableProps<Item>, "items" | "isStale" | "chosen" | "sort" | "onSort" | "selection">,
    Pick<TableToolbarProps, "searchField" | "filters" | "search" | "navigation"> {
  readonly list: LoadedList<Item>;
  /** Such as "Couldn’t load members". */
  readonly failureTitle?: string;
  /** Replaces the table if the list has no items. */
  readonly empty: ReactElement;
  /** Whether a search or a filter is in the URL. Without one, an empty list has no toolbar. */
  readonly isFiltered: boolean;
  /** A button for the whole list. */
  readonly toolbarAction?: ReactNode;
  /** The order that is absent from the URL; absent if the list can't be sorted. */
  readonly defaultSort?: string;
  /** Absent if rows can't be selected. */
  readonly selection?: ListSelection<Item> | false;
}

type Props<Item> = ListTableProps<Item> & {
  /** The number of results, as text. */
  readonly results: ReactNode;
  /** What is below the table. */
  readonly children: ReactNode;
};

/** A list with its toolbar, its table, and the actions for the selected rows. */
export function ListTable<Item extends object>(props: Props<Item>): ReactElement {
  const {
    list,
    failureTitle = "Couldn’t load this list",
    empty,
    isFiltered,
    results,
    children,
    ...others
  } = props;
  const { searchField, filters, search, navigation, toolbarAction, defaultSort, selection, ...table } =
    others;
  const { items, isStale, failure } = list;
  const isEmpty = items?.length === 0 && !isStale && !failure;
  const selected = readSelected(search);
  const isSelected = (item: Item) =>
    selected.has(table.idOf(item)) && (!selection || selection.blockedReason?.(item) === undefined);
  const select = (chosen: readonly Item[]) => navigation.select(new Set(chosen.map(table.idOf)));
  return (
    <>
      {(!isEmpty || isFiltered) && (
        <TableToolbar
          {...{ searchField, filters, search, navigation }}
          columns={table.columns}
          results={isStale ? "Loading…" : items && !failure && results}
          action={toolbarAction}
        />
      )}
      {selection ? selection.bar(items?.filter(isSelected) ?? [], select) : null}
      {failure ? (
        <FailurePanel title={failureTitle} {...failure} />
      ) : isEmpty ? (
        empty
      ) : (
        <>
          <DataTable
            {...table}
            items={items}
            isStale={isStale}
            chosen={readColumns(search)}
            {...(defaultSort !== undefined && {
              sort: search.sort ?? defaultSort,
              onSort: (next: string) =>
                navigation.change({ sort: writeSort(next, search.sort, defaultSort) }),
            })}
            {...(selection && {
              selection: {
                selected,
                onSelect: navigation.select,
                nameOf: selection.nameOf,
                ...(selection.blockedReason && { blockedReason: selection.blockedReason }),
              },
            })}
          />
          {children}
        </>
      )}
    </>
  );
}
