import type { ReactNode } from "react";
import type { ColumnLayout } from "./table-layout.ts";

/** A column of a {@link DataTable}. The first column names the row and is always shown. */
export interface DataColumn<Item> extends ColumnLayout {
  readonly label: string;
  /** What this column's header sorts the list by; absent if it can't be sorted. */
  readonly order?: string;
  readonly isNumeric?: boolean;
  /** Whether the cells are times, which need more space if the user has chosen exact times. */
  readonly isTime?: boolean;
  /** Whether the column takes a whole line of a card; a function for a column with short and long values. */
  readonly isWide?: boolean | ((item: Item) => boolean);
  /** Whether the cell becomes a second line of the first column if the column doesn't fit. */
  readonly isFoldable?: boolean;
  readonly cell: (item: Item) => ReactNode;
}
