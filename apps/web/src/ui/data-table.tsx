import { Skeleton } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import cardClasses from "./cards.module.css";
import checkboxClasses from "./checkbox.module.css";
import classes from "./data-table.module.css";
import type { DataTableProps } from "./data-table-props.ts";
import { ExactTimes } from "./exact-times.ts";
import { CardPlaceholder, RowCard } from "./row-card.tsx";
import { SortHeader } from "./sort-header.tsx";
import { SortSelect } from "./sort-select.tsx";
import tableClasses from "./table.module.css";
import { chooseColumns, fitColumns, isCards } from "./table-layout.ts";
import { TableRow } from "./table-row.tsx";
import { useDataTable } from "./use-data-table.ts";
import { useWidth } from "./use-width.ts";

const placeholderWidths = ["62%", "40%", "51%", "34%", "58%", "46%", "38%", "55%"];
const selectionWidth = 40;
const defaultActionsWidth = 92;
/** An exact time takes two lines at this width: the date, and the time with the time zone. */
const exactTimeWidth = 140;

/**
 * A list as a table with the columns that fit, or as cards if a table doesn't fit. The caller sorts, filters and paginates;
 * for most lists, the server does.
 */
export function DataTable<Item extends object>(props: DataTableProps<Item>): ReactElement {
  const { label, columns, items, isStale, chosen, sort = "", onSort, selection } = props;
  const { actionsWidth = defaultActionsWidth } = props;
  const [ref, width] = useWidth<HTMLDivElement>();
  const fixed = (selection ? selectionWidth : 0) + (props.actions ? actionsWidth : 0);
  const isExact = useContext(ExactTimes);
  const layouts = columns.map((column) => ({
    ...column,
    minWidth: column.isTime && isExact ? Math.max(column.minWidth, exactTimeWidth) : column.minWidth,
  }));
  const shown = fitColumns(layouts, chosen, width, fixed);
  const visible = columns.filter(({ id }) => shown.has(id));
  const secondLine = chooseColumns(columns, chosen).find(
    ({ id, isFoldable }) => isFoldable && !shown.has(id),
  );
  const { table, rows } = useDataTable(props);
  const isBusy = !items || isStale;
  const placeholders = placeholderWidths.slice(0, props.expectedCount);
  // Until the width is measured, the list would render all rows as cards and replace them before
  // the first paint.
  if (width === 0) return <div ref={ref} />;
  if (isCards(width)) {
    return (
      <div ref={ref}>
        {onSort && <SortSelect columns={columns} sort={sort} onSort={onSort} />}
        <ul
          className={cardClasses.list}
          aria-label={label}
          aria-busy={isBusy}
          data-stale={isStale || undefined}
        >
          {items
            ? rows.map((row) => (
                <RowCard key={row.id} row={row} columns={visible} {...rowProps(props, row.id)} />
              ))
            : placeholders.slice(0, 4).map((cell) => <CardPlaceholder key={cell} width={cell} />)}
        </ul>
      </div>
    );
  }
  return (
    <div ref={ref} className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${classes.table}`}
        aria-label={label}
        aria-busy={isBusy}
        data-stale={isStale || undefined}
        data-tall={props.isTall || secondLine !== undefined || undefined}
      >
        <colgroup>
          {selection && <col style={{ width: selectionWidth }} />}
          {visible.map(({ id }) => (
            <col key={id} style={{ width: shown.get(id) }} />
          ))}
          {props.actions && <col style={{ width: actionsWidth }} />}
        </colgroup>
        <thead>
          <tr>
            {selection && (
              <th scope="col" className={classes.check}>
                <input
                  type="checkbox"
                  className={checkboxClasses.box}
                  aria-label="Select all on this page"
                  disabled={!rows.some((row) => row.getCanSelect())}
                  checked={rows.length > 0 && table.getIsAllRowsSelected()}
                  ref={(box) => {
                    if (box)
                      box.indeterminate = table.getIsSomeRowsSelected() && !table.getIsAllRowsSelected();
                  }}
                  onChange={(event) => table.toggleAllRowsSelected(event.currentTarget.checked)}
                />
              </th>
            )}
            {visible.map(({ id, label: title, order, isNumeric }) =>
              order === undefined || !onSort ? (
                <th key={id} scope="col" data-numeric={isNumeric || undefined}>
                  {title}
                </th>
              ) : (
                <SortHeader
                  key={id}
                  order={order}
                  label={title}
                  sort={sort}
                  onSort={onSort}
                  isNumeric={isNumeric ?? false}
                />
              ),
            )}
            {props.actions && (
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {items
            ? rows.map((row) => (
                <TableRow
                  key={row.id}
                  row={row}
                  columns={visible}
                  secondLine={secondLine}
                  {...rowProps(props, row.id)}
                />
              ))
            : placeholders.map((cell) => (
                <tr key={cell}>
                  {selection && <td />}
                  {visible.map(({ id, isNumeric }, index) => (
                    <td key={id}>
                      <Skeleton h={12} w={index === 0 ? cell : "60%"} ml={isNumeric ? "auto" : 0} />
                    </td>
                  ))}
                  {props.actions && <td />}
                </tr>
              ))}
        </tbody>
      </table>
    </div>
  );
}

function rowProps<Item extends object>(props: DataTableProps<Item>, id: string) {
  return {
    isSelected: props.selection?.selected.has(id) ?? false,
    nameOf: props.selection?.nameOf,
    blockedReason: props.selection?.blockedReason,
    onOpen: props.onOpen,
    actions: props.actions,
    note: props.note,
  };
}
