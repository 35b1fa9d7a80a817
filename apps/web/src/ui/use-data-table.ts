import {
  type Column,
  type ColumnDef,
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures as selectFeatures,
  useTable,
} from "@tanstack/react-table";
import { useMemo } from "react";
import type { DataColumn } from "./data-column.ts";
import type { DataTableProps } from "./data-table-props.ts";

/** The features of TanStack Table that tables use. */
export const tableFeatures = selectFeatures({
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  columnMeta: {} as { readonly column: DataColumn<never> },
});

/**
 * The state of a table, whose caller sorts, filters and paginates.
 * @param shown The columns that fit.
 */
export function useDataTable<Item extends object>(
  { columns, items, idOf, sort = "", selection }: DataTableProps<Item>,
  shown: ReadonlyMap<string, number>,
) {
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
    features: tableFeatures,
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
  return {
    table,
    rows: table.getRowModel().rows,
    columns: table.getVisibleLeafColumns().map((column) => columnOf<Item>(column)),
  };
}

function defineColumn<Item>(column: DataColumn<Item>): ColumnDef<typeof tableFeatures, Item & object> {
  return {
    id: column.id,
    header: column.label,
    cell: ({ row }) => column.cell(row.original),
    meta: { column: column as DataColumn<never> },
  };
}

function columnOf<Item>(column: Column<typeof tableFeatures, Item & object>): DataColumn<Item> {
  return column.columnDef.meta?.column as unknown as DataColumn<Item>; // `defineColumn` sets it.
}
