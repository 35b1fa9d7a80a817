import { Select } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { KeyRejection } from "../../server/trpc.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { describeResults } from "../../ui/describe-results.ts";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { TableFooter } from "../../ui/table-footer.tsx";
import { readColumns } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import pageClasses from "./key-page.module.css";
import { defaultRejectionsSize, type KeyPageSearch } from "./key-page-search.ts";
import { rejectionColumns } from "./rejection-columns.tsx";

const route = getRouteApi("/app/account/api-keys/$keyId");
const anyReason = { value: "any", label: "Any reason" };

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
  // With the one in the URL, which can be of requests that are no longer in the list.
  const reasons = [...new Set([...rejections.map((item) => item.reason), ...(reason ? [reason] : [])])];
  const table = useTableNavigation<KeyPageSearch>({
    navigate: route.useNavigate(),
    page,
    size,
    total,
    isSection: true,
  });
  return (
    <>
      <TableToolbar
        results={describeResults({ page, size, total }, "request", "requests")}
        columns={rejectionColumns}
        search={search}
        onChooseColumns={table.chooseColumns}
      >
        {(reasons.length > 1 || reason !== undefined) && (
          <Select
            w={240}
            aria-label="Reason"
            allowDeselect={false}
            data={[anyReason, ...reasons.map((value) => ({ value, label: outcomeTitle(value) }))]}
            value={reason ?? anyReason.value}
            onChange={(value) =>
              table.change({ reason: value === null || value === anyReason.value ? undefined : value })
            }
          />
        )}
      </TableToolbar>
      {total === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>None of the last 100 requests has this reason.</p>
        </div>
      ) : (
        <>
          <DataTable
            label="Rejected and rate-limited requests"
            columns={rejectionColumns}
            items={matching.slice((page - 1) * size, page * size)}
            isStale={false}
            idOf={idOf}
            chosen={readColumns(search)}
          />
          <TableFooter
            page={page}
            size={size}
            total={total}
            onPageChange={table.openPage}
            onSizeChange={(next) => table.change({ size: next === defaultRejectionsSize ? undefined : next })}
          />
        </>
      )}
    </>
  );
}

function idOf({ id }: KeyRejection): string {
  return id;
}
