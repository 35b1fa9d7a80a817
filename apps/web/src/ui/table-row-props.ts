import type { Row } from "@tanstack/react-table";
import type { MouseEvent, ReactNode } from "react";
import type { DataColumn } from "./data-column.ts";
import type { tableFeatures } from "./use-data-table.ts";

/** What a row and a card of a table get. */
export interface RowProps<Item extends object> {
  readonly row: Row<typeof tableFeatures, Item>;
  readonly columns: readonly DataColumn<Item>[];
  /** The column whose cell is the second line of the first column; absent in cards. */
  readonly secondLine?: DataColumn<Item> | undefined;
  readonly isSelected: boolean;
  /** The name of the item for screen readers; absent if rows can't be selected. */
  readonly nameOf: ((item: Item) => string) | undefined;
  readonly blockedReason: ((item: Item) => string | undefined) | undefined;
  readonly onOpen: ((item: Item) => void) | undefined;
  readonly actions: ((item: Item) => ReactNode) | undefined;
  readonly note: ((item: Item) => ReactNode) | undefined;
}

/** Whether a row would be rendered as before. */
export function isSameRow<Item extends object>(before: RowProps<Item>, after: RowProps<Item>): boolean {
  return (
    before.row.original === after.row.original &&
    before.isSelected === after.isSelected &&
    before.blockedReason === after.blockedReason &&
    before.onOpen === after.onOpen &&
    before.actions === after.actions &&
    before.note === after.note &&
    before.secondLine === after.secondLine &&
    before.columns.length === after.columns.length &&
    before.columns.every((column, index) => column === after.columns[index])
  );
}

/**
 * Opens the item on a click anywhere in its row, except on a control, after selecting text, or by a tap on a time, which
 * shows the exact time.
 */
export function openUnlessOnControl(event: MouseEvent, open: () => void): void {
  const isTap = event.nativeEvent instanceof PointerEvent && event.nativeEvent.pointerType === "touch";
  const controls = isTap ? "a, button, input, label, time" : "a, button, input, label";
  const isOnControl = event.target instanceof Element && event.target.closest(controls) !== null;
  if (!isOnControl && window.getSelection()?.isCollapsed !== false) open();
}
