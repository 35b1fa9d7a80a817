import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./sort-select.module.css";

interface SortableColumn {
  readonly label: string;
  readonly order?: string;
  readonly isTime?: boolean;
  readonly isNumeric?: boolean;
}

interface SortSelectProps {
  /** Columns without `order` can't be sorted. */
  readonly columns: readonly SortableColumn[];
  /** What the list is sorted by; with a minus before it, in descending order. */
  readonly sort: string;
  readonly onSort: (sort: string) => void;
}

/** Sorts a list of cards, which has no column headers. */
export function SortSelect({ columns, sort, onSort }: SortSelectProps): ReactElement {
  const choices = columns.flatMap((column) => {
    const { label, order } = column;
    if (order === undefined) return [];
    const [ascending, descending] = describeDirections(column);
    return [
      { value: order, label: `${label}, ${ascending}` },
      { value: `-${order}`, label: `${label}, ${descending}` },
    ];
  });
  return (
    <Select
      className={classes.sort}
      aria-label="Sort by"
      allowDeselect={false}
      data={choices}
      value={sort}
      onChange={(value) => value !== null && onSort(value)}
    />
  );
}

function describeDirections({ order, isTime, isNumeric }: SortableColumn): readonly [string, string] {
  if (order === "expiresAt") return ["soonest first", "latest first"];
  if (isTime) return ["oldest first", "newest first"];
  return isNumeric ? ["fewest first", "most first"] : ["A to Z", "Z to A"];
}
