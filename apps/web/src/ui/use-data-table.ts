import {
  type ColumnDef,
  rowSelectionFeature,
  tableFeatures as selectFeatures,
  useTable,
} from "@tanstack/react-table";
import { useMemo } from "react";
import type { DataColumn } from "./data-column.ts";
import type { DataTableProps } from "./data-table-props.ts";

/**
 * The features of TanStack Table that tables use. The server sorts, and `fitColumns` chooses the columns. Each feature is
 * about a kilobyte that every page with a table loads.
 */
export const tableFeatures = selectFeatures({ rowSelectionFeature });

/** The rows of a table, and which of them are selected. */
export function useDataTable<Item extends object>({ columns, items, idOf, selection }: DataTableProps<Item>) {
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
    enableRowSelection: ({ original }) => selection?.blockedReason?.(original) === undefined,
    state: { rowSelection },
    onRowSelectionChange: (updater) => {
      const after = typeof updater === "function" ? updater(rowSelection) : updater;
      selection?.onSelect(new Set(Object.keys(after).filter((id) => after[id])));
    },
  });
  return { table, rows: table.getRowModel().rows };
}

function defineColumn<Item>(column: DataColumn<Item>): ColumnDef<typeof tableFeatures, Item & object> {
  return { id: column.id, header: column.label, cell: ({ row }) => column.cell(row.original) };
}
