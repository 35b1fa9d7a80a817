import { Skeleton } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import classes from "./item-list.module.css";

/** What a list shows of an item. */
interface DescribedItem {
  readonly id: string;
  readonly name: ReactNode;
  readonly detail: ReactNode;
  /** A count, a time or a status on the right. */
  readonly figure: ReactNode;
}

interface ItemListProps<Item> {
  /** Undefined while they load. */
  readonly items: readonly Item[] | undefined;
  /** What is shown if there are none. */
  readonly empty: string;
  readonly describe: (item: Item) => DescribedItem;
}

/** A short list of keys or consumers, each with a figure. */
export function ItemList<Item>({ items, empty, describe }: ItemListProps<Item>): ReactElement {
  if (!items) return <Skeleton h={88} />;
  if (items.length === 0) return <p className={classes.empty}>{empty}</p>;
  return (
    <ul className={classes.list}>
      {items.map((item) => {
        const { id, name, detail, figure } = describe(item);
        return (
          <li key={id} className={classes.item}>
            <div className={classes.subject}>
              <bdi className={classes.name}>{name}</bdi>
              <span className={classes.detail}>{detail}</span>
            </div>
            <span className={classes.figure}>{figure}</span>
          </li>
        );
      })}
    </ul>
  );
}
