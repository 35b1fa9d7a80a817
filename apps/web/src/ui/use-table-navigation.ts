import { useEffect } from "react";
import { findLastPage, type TableSearch, writeColumns, writeSelected } from "./table-search.ts";

export interface TableNavigationOptions<Search extends TableSearch> {
  /** Changes the search part of the URL; the `navigate` of the page's route. */
  readonly navigate: (options: {
    readonly search: (before: Search) => Search;
    readonly replace: boolean;
    readonly resetScroll: boolean;
  }) => Promise<void>;
  /** Absent for a list that grows at the end. */
  readonly pages?: {
    readonly page: number;
    readonly size: number;
    /** The number of items on all pages; undefined while they load. */
    readonly total: number | undefined;
  };
  /** Whether the table is a section of a page, which stays where it is when another page of the table opens. */
  readonly isSection?: boolean;
}

const singlePage = { page: 1, size: 1, total: undefined };

export interface TableNavigation<Search extends TableSearch> {
  /** Changes filters, order or page size, and goes to the first page. Removes undefined values from the URL. */
  readonly change: (next: SearchChange<Search>) => void;
  /** Opens a page of the table as a new entry of the browser's history. */
  readonly openPage: (page: number) => void;
  /** Selects rows. A change to the list, or another page, clears the selection. */
  readonly select: (ids: ReadonlySet<string>) => void;
  /** Chooses columns, and stays on the page. Undefined for the default columns. */
  readonly chooseColumns: (columns: readonly string[] | undefined) => void;
}

type SearchChange<Search> = { readonly [Name in keyof Search]?: Search[Name] | undefined };

/**
 * Navigates within a table whose state is in the URL. If the page doesn't exist (the last item of the last page was
 * deleted, or the URL was edited), opens the last one.
 */
export function useTableNavigation<Search extends TableSearch>({
  navigate,
  pages: { page, size, total } = singlePage,
  isSection = false,
}: TableNavigationOptions<Search>): TableNavigation<Search> {
  useEffect(() => {
    if (total === undefined) return;
    const lastPage = findLastPage(total, size);
    if (page > lastPage) void navigate({ search: toPage(lastPage), replace: true, resetScroll: !isSection });
  }, [navigate, page, size, total, isSection]);
  return {
    change: (next) =>
      void navigate({
        search: ({ page: _page, selected: _selected, ...before }) =>
          ({ ...before, ...next }) as unknown as Search,
        replace: true,
        resetScroll: false,
      }),
    openPage: (next) => void navigate({ search: toPage(next), replace: false, resetScroll: !isSection }),
    select: (ids) =>
      void navigate({
        // The router omits undefined values.
        search: (before) => ({ ...before, selected: writeSelected(ids) }),
        replace: true,
        resetScroll: false,
      }),
    chooseColumns: (columns) =>
      void navigate({
        search: (before) => ({ ...before, columns: writeColumns(columns) }),
        replace: true,
        resetScroll: false,
      }),
  };
}

function toPage<Search extends TableSearch>(page: number): (before: Search) => Search {
  // The first page has no number in the URL. The router omits undefined values.
  return (before) => ({ ...before, page: page > 1 ? page : undefined, selected: undefined });
}
