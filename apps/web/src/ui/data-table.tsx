import { Skeleton, Tooltip } from "@mantine/core";
import {
  type Column,
  type ColumnDef,
  columnVisibilityFeature,
  type Row,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type MouseEvent, memo, type ReactElement, type ReactNode, useContext, useMemo } from "react";
import cardClasses from "./cards.module.css";
import classes from "./data-table.module.css";
import { ExactTimes } from "./exact-times.ts";
import { SortHeader } from "./sort-header.tsx";
import { SortSelect } from "./sort-select.tsx";
import tableClasses from "./table.module.css";
import { type ColumnLayout, fitColumns, isCards } from "./table-layout.ts";
import { useWidth } from "./use-width.ts";

const features = tableFeatures({
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  columnMeta: {} as { readonly column: DataColumn<never> },
});

/** A column of a {@link DataTable}. The first column names the row and is always shown. */
export interface DataColumn<Item> extends ColumnLayout {
  readonly label: string;
  /** What this column's header sorts the list by; absent if it can't be sorted. */
  readonly order?: string;
  readonly isNumeric?: boolean;
  /** Whether the cells are times, which need more space if the user has chosen exact times. */
  readonly isTime?: boolean;
  /** Whether the column takes a whole line of a card. */
  readonly isWide?: boolean;
  readonly cell: (item: Item) => ReactNode;
}

export interface DataTableProps<Item> {
  /** The accessible name. */
  readonly label: string;
  /** Must be the same array at each render. */
  readonly columns: readonly [DataColumn<Item>, ...DataColumn<Item>[]];
  /** Undefined while the items load. The table then shows placeholders. */
  readonly items: readonly Item[] | undefined;
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
  /** A line below a row, such as why a change of it failed. */
  readonly note?: (item: Item) => ReactNode;
}

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
  const { label, columns, items, isStale, idOf, chosen, sort = "", onSort, selection } = props;
  const { actionsWidth = defaultActionsWidth } = props;
  const [ref, width] = useWidth<HTMLDivElement>();
  const fixed = (selection ? selectionWidth : 0) + (props.actions ? actionsWidth : 0);
  const isExact = useContext(ExactTimes);
  const layouts = columns.map((column) => ({
    ...column,
    minWidth: column.isTime && isExact ? Math.max(column.minWidth, exactTimeWidth) : column.minWidth,
  }));
  const shown = fitColumns(layouts, chosen, width, fixed);
  const definitions = useMemo(() => columns.map(defineColumn), [columns]);
  const data = useMemo(() => [...(items ?? [])], [items]);
  // Without the IDs of rows that are no longer in the list, which the URL may still contain.
  const rowSelection = Object.fromEntries(
    data.flatMap((item) =>
      selection?.selected.has(idOf(item)) && selection.blockedReason?.(item) === undefined
        ? [[idOf(item), true as const]]
        : [],
    ),
  );
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: idOf,
    manualSorting: true,
    enableRowSelection: ({ original }) => selection?.blockedReason?.(original) === undefined,
    state: {
      sorting: [{ id: sort.replace(/^-/, ""), desc: sort.startsWith("-") }],
      columnVisibility: Object.fromEntries(columns.map(({ id }) => [id, shown.has(id)])),
      rowSelection,
    },
    onRowSelectionChange: (updater) => {
      const after = typeof updater === "function" ? updater(rowSelection) : updater;
      selection?.onSelect(new Set(Object.keys(after).filter((id) => after[id])));
    },
  });
  const { rows } = table.getRowModel();
  const visible = table.getVisibleLeafColumns().map((column) => columnOf<Item>(column));
  const isBusy = !items || isStale;
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
                <Card key={row.id} row={row} columns={visible} {...rowProps(props, row.id)} />
              ))
            : placeholderWidths.slice(0, 4).map((cell) => <CardPlaceholder key={cell} width={cell} />)}
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
                  className={classes.box}
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
                <TableRow key={row.id} row={row} columns={visible} {...rowProps(props, row.id)} />
              ))
            : placeholderWidths.map((cell) => (
                <tr key={cell}>
                  {selection && <td />}
                  {visible.map(({ id }, index) => (
                    <td key={id}>
                      <Skeleton h={12} w={index === 0 ? cell : "60%"} />
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

function defineColumn<Item>(column: DataColumn<Item>): ColumnDef<typeof features, Item & object> {
  return {
    id: column.id,
    header: column.label,
    cell: ({ row }) => column.cell(row.original),
    meta: { column: column as DataColumn<never> },
  };
}

function columnOf<Item>(column: Column<typeof features, Item & object>): DataColumn<Item> {
  return column.columnDef.meta?.column as unknown as DataColumn<Item>; // `defineColumn` sets it.
}

interface RowProps<Item extends object> {
  readonly row: Row<typeof features, Item>;
  readonly columns: readonly DataColumn<Item>[];
  readonly isSelected: boolean;
  /** The name of the item for screen readers; absent if rows can't be selected. */
  readonly nameOf: ((item: Item) => string) | undefined;
  readonly blockedReason: ((item: Item) => string | undefined) | undefined;
  readonly onOpen: ((item: Item) => void) | undefined;
  readonly actions: ((item: Item) => ReactNode) | undefined;
  readonly note: ((item: Item) => ReactNode) | undefined;
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

/**
 * Opens the item on a click anywhere in its row, except on a control, after selecting text, or by a tap on a time, which
 * shows the exact time.
 */
function openUnlessOnControl(event: MouseEvent, open: () => void): void {
  const isTap = event.nativeEvent instanceof PointerEvent && event.nativeEvent.pointerType === "touch";
  const controls = isTap ? "a, button, input, label, time" : "a, button, input, label";
  const isOnControl = event.target instanceof Element && event.target.closest(controls) !== null;
  if (!isOnControl && window.getSelection()?.isCollapsed !== false) open();
}

function TableRowBody<Item extends object>(props: RowProps<Item>): ReactElement {
  const { row, columns, isSelected, nameOf, onOpen, actions, note } = props;
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

/**
 * Selects a row. A row that can't be selected has a box that keeps the focus, so that the reason can be read with the
 * keyboard too.
 */
function RowCheckbox<Item extends object>(props: RowProps<Item> & { readonly name: string }): ReactElement {
  const { row, isSelected, blockedReason, name } = props;
  const reason = blockedReason?.(row.original);
  return (
    <Tooltip label={reason} disabled={reason === undefined} multiline maw={260}>
      <input
        type="checkbox"
        className={classes.box}
        aria-label={`Select ${name}`}
        checked={isSelected && reason === undefined}
        {...(reason !== undefined && { "aria-disabled": true, "aria-description": reason })}
        onChange={(event) => reason === undefined && row.toggleSelected(event.currentTarget.checked)}
      />
    </Tooltip>
  );
}

/** Memoized, so that the refresh every few seconds renders only the rows that have changed. */
const TableRow = memo(TableRowBody, isSameRow) as typeof TableRowBody;

function CardBody<Item extends object>(props: RowProps<Item>): ReactElement {
  const { row, columns, nameOf, onOpen, actions, note } = props;
  const item = row.original;
  const [first, ...others] = columns;
  return (
    <li
      className={`${cardClasses.card} ${classes.card}`}
      data-opens={onOpen !== undefined || undefined}
      {...(onOpen && { onClick: (event: MouseEvent) => openUnlessOnControl(event, () => onOpen(item)) })}
    >
      <div className={classes.cardHead}>
        {nameOf && <RowCheckbox {...props} name={nameOf(item)} />}
        <h2 className={classes.cardName}>{first?.cell(item)}</h2>
        {actions && <div className={classes.actions}>{actions(item)}</div>}
      </div>
      <dl className={classes.facts}>
        {others.map(({ id, label, isWide, cell }) => (
          <div key={id} className={classes.fact} data-wide={isWide || undefined}>
            <dt>{label}</dt>
            <dd>{cell(item)}</dd>
          </div>
        ))}
      </dl>
      {note?.(item)}
    </li>
  );
}

const Card = memo(CardBody, isSameRow) as typeof CardBody;

function isSameRow<Item extends object>(before: RowProps<Item>, after: RowProps<Item>): boolean {
  return (
    before.row.original === after.row.original &&
    before.isSelected === after.isSelected &&
    before.blockedReason === after.blockedReason &&
    before.onOpen === after.onOpen &&
    before.actions === after.actions &&
    before.note === after.note &&
    before.columns.length === after.columns.length &&
    before.columns.every((column, index) => column === after.columns[index])
  );
}

function CardPlaceholder({ width }: { readonly width: string }): ReactElement {
  return (
    <li className={cardClasses.card}>
      <Skeleton h={16} w={width} my={8} />
      <Skeleton h={12} mt={12} />
      <Skeleton h={12} mt={12} />
    </li>
  );
}
