import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./sort-select.module.css";

interface SortSelectProps {
  /** Columns without `order` can't be sorted. */
  readonly columns: readonly { readonly label: string; readonly order?: string }[];
  /** What the list is sorted by; with a minus before it, in descending order. */
  readonly sort: string;
  readonly onSort: (sort: string) => void;
}

/** Sorts a list of cards, which has no column headers. */
export function SortSelect({ columns, sort, onSort }: SortSelectProps): ReactElement {
  const choices = columns.flatMap(({ label, order }) =>
    order === undefined
      ? []
      : [
          { value: order, label: `${label}, ascending` },
          { value: `-${order}`, label: `${label}, descending` },
        ],
  );
  return (
    <Select
      className={classes.sort}
      aria-label="Sort by"
      data={choices}
      value={sort}
      onChange={(value) => value !== null && onSort(value)}
    />
  );
}
