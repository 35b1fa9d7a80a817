import type { ReactElement, ReactNode } from "react";
import { ColumnMenu } from "./column-menu.tsx";
import type { ColumnLayout } from "./table-layout.ts";
import { readColumns, type TableSearch } from "./table-search.ts";
import classes from "./toolbar.module.css";

interface TableToolbarProps {
  /** The search and the filters. */
  readonly children?: ReactNode;
  /** The number of results, as text. */
  readonly results: ReactNode;
  readonly columns: readonly (ColumnLayout & { readonly label: string })[];
  readonly search: TableSearch;
  readonly onChooseColumns: (columns: readonly string[] | undefined) => void;
  /** A button for the whole list. */
  readonly action?: ReactNode;
}

/** What is above a table: its filters, the number of results, and the choice of columns. */
export function TableToolbar(props: TableToolbarProps): ReactElement {
  const { children, results, columns, search, onChooseColumns, action } = props;
  return (
    <div className={classes.toolbar}>
      {children && <div className={classes.filters}>{children}</div>}
      <div className={classes.results}>
        <span role="status" className={classes.count}>
          {results}
        </span>
        <ColumnMenu columns={columns} chosen={readColumns(search)} onChoose={onChooseColumns} />
        {action}
      </div>
    </div>
  );
}
