import type { ReactNode } from "react";
import type { DataColumn } from "./data-column.ts";

export interface DataTableProps<Item> {
  /** The accessible name. */
  readonly label: string;
  /** Must be the same array at each render. */
  readonly columns: readonly [DataColumn<Item>, ...DataColumn<Item>[]];
  /** Undefined while the items load. The table then shows placeholders. */
  readonly items: readonly Item[] | undefined;
  /** About how many items will be shown; absent if that is unknown. At most 8 placeholders are shown. */
  readonly expectedCount?: number;
  /** Whether `items` are results of the previous search while the current one loads. */
  readonly isStale: boolean;
  readonly idOf: (item: Item) => string;
  /** The chosen columns; undefined for the default columns. */
  readonly chosen: readonly string[] | undefined;
  /**
   * What the list is sorted by, with a minus before it in descending order; absent if it can't be
   * sorted.
   */
  readonly sort?: string;
  /** Gets an empty text for the default order. */
  readonly onSort?: (sort: string) => void;
  /** Opens an item, by a click anywhere in its row. */
  readonly onOpen?: (item: Item) => void;
  /** The buttons at the end of a row. */
  readonly actions?: (item: Item) => ReactNode;
  /** The width of their column, in pixels; enough for one button by default. */
  readonly actionsWidth?: number;
  /**
   * Which rows are selected, and their names for screen readers; absent if rows can't be selected.
   */
  readonly selection?: {
    readonly selected: ReadonlySet<string>;
    readonly onSelect: (selected: ReadonlySet<string>) => void;
    readonly nameOf: (item: Item) => string;
    /** Why a row can't be selected; undefined if it can. Must be the same function at each render. */
    readonly blockedReason?: (item: Item) => string | undefined;
  };
  /** Whether rows are as high as two lines need, because a column has a second line. */
  readonly isTall?: boolean;
  /** A line below a row, such as why a change of it failed. */
  readonly note?: (item: Item) => ReactNode;
}
