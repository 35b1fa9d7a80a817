import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable, type GrowingTableProps } from "../../ui/growing-table.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import type { TableSearch } from "../../ui/table-search.ts";
import type { TableNavigation } from "../../ui/use-table-navigation.ts";
import { type StatusSearch, statusTitles } from "./status-filter.ts";

interface OperatorSearch extends Omit<TableSearch, "page">, StatusSearch {
  readonly role?: "operator";
}

interface OperatorTableProps<Item>
  extends Pick<
    GrowingTableProps<Item>,
    "nouns" | "columns" | "defaultSort" | "actions" | "actionsWidth" | "selection"
  > {
  readonly title: string;
  readonly explanation: string;
  readonly placeholder: string;
  /** What the search covers. */
  readonly coverage: string;
  readonly query: UseInfiniteQueryResult<
    InfiniteData<{ readonly items: readonly Item[]; readonly total: number }>,
    unknown
  >;
  readonly search: OperatorSearch;
  readonly navigation: TableNavigation<OperatorSearch>;
  /** The filters besides the status. */
  readonly filters?: ReactNode;
  /** Replaces a list that is empty without a filter. */
  readonly empty?: ReactElement;
}

/** A page with a list of everything of one kind on the instance. */
export function OperatorTable<Item extends { readonly id: string }>(
  props: OperatorTableProps<Item>,
): ReactElement {
  const { title, explanation, placeholder, coverage, query, filters, empty, ...table } = props;
  const { nouns, search, navigation } = table;
  const [noun, plural] = nouns;
  const { q, status, role } = search;
  const hasFilters = status !== undefined || role !== undefined;
  const isFiltered = q !== undefined || hasFilters;
  return (
    <>
      <PageHeader title={title} explanation={explanation} />
      <GrowingTable
        {...table}
        label={title}
        searchField={{ label: `Search ${plural}`, placeholder }}
        filters={
          <>
            <FilterSelect
              label="Status"
              anyLabel="Any status"
              options={statusTitles}
              value={status}
              onChoose={(next) => navigation.change({ status: next })}
            />
            {filters}
          </>
        }
        list={useGrowingList(query)}
        total={query.data?.pages.at(-1)?.total ?? 0}
        isFiltered={isFiltered}
        failureTitle={`Couldn’t load ${plural}`}
        idOf={idOf}
        empty={
          empty && !isFiltered ? (
            empty
          ) : (
            <NoMatch
              noun={noun}
              search={q}
              hasFilters={hasFilters}
              onClear={() => navigation.change({ q: undefined, status: undefined, role: undefined })}
            >
              Search covers {coverage}.
            </NoMatch>
          )
        }
      />
    </>
  );
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}
