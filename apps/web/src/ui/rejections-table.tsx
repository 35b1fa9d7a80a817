import type { ReactElement } from "react";
import type { DataColumn } from "./data-column.ts";
import { FilterSelect } from "./filter-select.tsx";
import { outcomeTitle } from "./outcome-titles.ts";
import { PagedTable } from "./paged-table.tsx";
import { defaultRejectionsSize, type RejectionsSearch } from "./rejections-search.ts";
import sectionClasses from "./section.module.css";
import { type TableNavigationOptions, useTableNavigation } from "./use-table-navigation.ts";

interface RejectionsTableProps<Rejection, Search extends RejectionsSearch> {
  readonly label: string;
  /** Such as "request" and "requests". */
  readonly nouns: readonly [string, string];
  readonly rejections: readonly Rejection[];
  readonly reasonOf: (rejection: Rejection) => string;
  /** Must be the same array at each render. */
  readonly columns: readonly [DataColumn<Rejection>, ...DataColumn<Rejection>[]];
  readonly search: Search;
  readonly navigate: TableNavigationOptions<Search>["navigate"];
}

/** Rejected requests or verifications, newest first, filtered by reason. */
export function RejectionsTable<Rejection extends { readonly id: string }, Search extends RejectionsSearch>({
  label,
  nouns,
  rejections,
  reasonOf,
  columns,
  search,
  navigate,
}: RejectionsTableProps<Rejection, Search>): ReactElement {
  const { reason, page = 1, size = defaultRejectionsSize } = search;
  const matching = rejections.filter((rejection) => reason === undefined || reasonOf(rejection) === reason);
  const total = matching.length;
  // Includes the reason in the URL, even if nothing in the list has it anymore.
  const reasons = [...new Set([...rejections.map(reasonOf), ...(reason ? [reason] : [])])];
  const table = useTableNavigation<RejectionsSearch>({
    // The search part of the page has more members, which stay as they are.
    navigate: navigate as unknown as TableNavigationOptions<RejectionsSearch>["navigate"],
    pages: { page, size, total },
    isSection: true,
  });
  return (
    <PagedTable
      label={label}
      filters={
        (reasons.length > 1 || reason !== undefined) && (
          <FilterSelect
            label="Reason"
            anyLabel="Any reason"
            options={Object.fromEntries(reasons.map((value) => [value, outcomeTitle(value)]))}
            value={reason}
            onChoose={(chosen) => table.change({ reason: chosen })}
            width={240}
          />
        )
      }
      list={{ items: matching.slice((page - 1) * size, page * size), isStale: false, failure: undefined }}
      nouns={nouns}
      total={total}
      defaultSize={defaultRejectionsSize}
      isFiltered={reason !== undefined}
      columns={columns}
      isTall
      idOf={idOf}
      search={search}
      navigation={table}
      empty={
        <div className={sectionClasses.box}>
          <p className={sectionClasses.empty}>None of the last 100 {nouns[1]} has this reason.</p>
        </div>
      }
    />
  );
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}
