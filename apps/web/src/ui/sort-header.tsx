import { UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./table.module.css";

interface SortHeaderProps<Order extends string> {
  readonly order: Order;
  readonly label: string;
  /** What the list is sorted by; with a minus before it, in descending order. */
  readonly sort: Order | `-${Order}`;
  /** Gets an empty text for the default order. */
  readonly onSort: (sort: Order | `-${Order}` | "") => void;
  readonly className?: string | undefined;
  readonly isNumeric?: boolean;
}

/** The header of a sortable column. A second click reverses the order, and a third restores the list's default. */
export function SortHeader<Order extends string>(props: SortHeaderProps<Order>): ReactElement {
  const { order, label, sort, onSort, className, isNumeric } = props;
  const isAscending = sort === order;
  const isDescending = sort === `-${order}`;
  return (
    <th
      scope="col"
      className={className}
      data-numeric={isNumeric || undefined}
      aria-sort={isAscending ? "ascending" : isDescending ? "descending" : "none"}
    >
      <UnstyledButton
        className={classes.sort}
        data-sorted={isAscending || isDescending || undefined}
        onClick={() => onSort(isAscending ? `-${order}` : isDescending ? "" : order)}
      >
        {label}
        {isAscending && <IconArrowUp size={14} aria-hidden="true" />}
        {isDescending && <IconArrowDown size={14} aria-hidden="true" />}
      </UnstyledButton>
    </th>
  );
}
