import { type MouseEvent, memo, type ReactElement } from "react";
import classes from "./data-table.module.css";
import { RowCheckbox } from "./row-checkbox.tsx";
import { isSameRow, openUnlessOnControl, type RowProps } from "./table-row-props.ts";

/** Memoized, so that the refresh every few seconds renders only the rows that have changed. */
export const TableRow = memo(TableRowBody, isSameRow) as typeof TableRowBody;

function TableRowBody<Item extends object>(props: RowProps<Item>): ReactElement {
  const { row, columns, secondLine, isSelected, nameOf, onOpen, actions, note } = props;
  const item = row.original;
  const details = note?.(item);
  return (
    <>
      <tr
        data-opens={onOpen !== undefined || undefined}
        data-selected={isSelected || undefined}
        {...(onOpen && { onClick: (event: MouseEvent) => openUnlessOnControl(event, () => onOpen(item)) })}
      >
        {nameOf && (
          <td className={classes.check}>
            <RowCheckbox {...props} name={nameOf(item)} />
          </td>
        )}
        {columns.map(({ id, isNumeric, cell }, index) =>
          index === 0 ? (
            <th key={id} scope="row">
              {cell(item)}
              {secondLine && <span className={classes.secondLine}>{secondLine.cell(item)}</span>}
            </th>
          ) : (
            <td key={id} data-numeric={isNumeric || undefined}>
              {cell(item)}
            </td>
          ),
        )}
        {actions && <td className={classes.actions}>{actions(item)}</td>}
      </tr>
      {details && (
        <tr>
          <td colSpan={columns.length + (nameOf ? 1 : 0) + (actions ? 1 : 0)} className={classes.note}>
            {details}
          </td>
        </tr>
      )}
    </>
  );
}
