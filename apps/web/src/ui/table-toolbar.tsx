import { maxLength } from "@latchkey/limits";
import type { ReactElement, ReactNode } from "react";
import { ColumnMenu } from "./column-menu.tsx";
import { SearchField } from "./search-field.tsx";
import type { ColumnLayout } from "./table-layout.ts";
import { readColumns, type TableSearch } from "./table-search.ts";
import classes from "./toolbar.module.css";
import type { TableNavigation } from "./use-table-navigation.ts";

export interface TableToolbarProps {
  /** The field that searches the list; absent if it can't be searched. */
  readonly searchField?:
    | {
        /** The accessible name, such as "Search API keys". */
        readonly label: string;
        readonly placeholder: string;
        readonly cut?: (text: string) => string;
      }
    | undefined;
  /** Other filters. */
  readonly filters?: ReactNode;
  /** The number of results, as text. */
  readonly results: ReactNode;
  readonly columns: readonly (ColumnLayout & { readonly label: string })[];
  readonly search: TableSearch;
  readonly navigation: TableNavigation<TableSearch>;
  /** A button for the whole list. */
  readonly action?: ReactNode;
}

/** What is above a table: its search and filters, the number of results, and the choice of columns. */
export function TableToolbar(props: TableToolbarProps): ReactElement {
  const { searchField, filters, results, columns, search, navigation, action } = props;
  return (
    <div className={classes.toolbar}>
      {(searchField || filters) && (
        <div className={classes.filters}>
          {searchField && (
            <SearchField
              {...searchField}
              maxLength={maxLength.search}
              search={search.q ?? ""}
              onSearch={(text) => navigation.change({ q: text === "" ? undefined : text })}
            />
          )}
          {filters}
        </div>
      )}
      <div className={classes.results}>
        <span role="status" className={classes.count}>
          {results}
        </span>
        <ColumnMenu columns={columns} chosen={readColumns(search)} onChoose={navigation.chooseColumns} />
        {action}
      </div>
    </div>
  );
}
