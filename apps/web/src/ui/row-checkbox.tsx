import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import checkboxClasses from "./checkbox.module.css";
import classes from "./data-table.module.css";
import type { RowProps } from "./table-row-props.ts";

/**
 * Selects a row. A row that can't be selected has a box that keeps the focus, so that the reason can be read with the
 * keyboard too.
 */
export function RowCheckbox<Item extends object>(
  props: RowProps<Item> & { readonly name: string },
): ReactElement {
  const { row, isSelected, blockedReason, name } = props;
  const reason = blockedReason?.(row.original);
  return (
    <Tooltip label={reason} disabled={reason === undefined} multiline maw={260}>
      <input
        type="checkbox"
        className={`${checkboxClasses.box} ${classes.box}`}
        aria-label={`Select ${name}`}
        checked={isSelected && reason === undefined}
        {...(reason !== undefined && { "aria-disabled": true, "aria-description": reason })}
        onChange={(event) => reason === undefined && row.toggleSelected(event.currentTarget.checked)}
      />
    </Tooltip>
  );
}
