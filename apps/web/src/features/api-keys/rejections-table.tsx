import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { KeyRejection } from "../../server/trpc.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { PagedTable } from "../../ui/paged-table.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import pageClasses from "./key-page.module.css";
import { defaultRejectionsSize, type KeyPageSearch } from "./key-page-search.ts";
import { rejectionColumns } from "./rejection-columns.tsx";

const route = getRouteApi("/app/account/api-keys/$keyId");

/** Rejected requests, newest first, filtered by reason. */
export function RejectionsTable({
  rejections,
}: {
  readonly rejections: readonly KeyRejection[];
}): ReactElement {
  const search = route.useSearch();
  const { reason, page = 1, size = defaultRejectionsSize } = search;
  const matching = rejections.filter((rejection) => reason === undefined || rejection.reason === reason);
  const total = matching.length;
  // Includes the reason in the URL, even if no request in the list has it anymore.
  const reasons = [...new Set([...rejections.map((item) => item.reason), ...(reason ? [reason] : [])])];
  const table = useTableNavigation<KeyPageSearch>({
    navigate: route.useNavigate(),
    pages: { page, size, total },
    isSection: true,
  });
  return (
    <PagedTable
      label="Rejected and rate-limited requests"
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
      nouns={["request", "requests"]}
      total={total}
      defaultSize={defaultRejectionsSize}
      isFiltered={reason !== undefined}
      columns={rejectionColumns}
      idOf={idOf}
      search={search}
      navigation={table}
      empty={
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>None of the last 100 requests has this reason.</p>
        </div>
      }
    />
  );
}

function idOf({ id }: KeyRejection): string {
  return id;
}
