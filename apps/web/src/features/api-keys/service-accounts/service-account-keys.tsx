import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { trpc } from "../../../server/trpc.ts";
import { isLoadingFailed, useLoadingFailure } from "../../../server/use-loading-failure.ts";
import { DataTable } from "../../../ui/data-table.tsx";
import { describeResults } from "../../../ui/describe-results.ts";
import { FailurePanel } from "../../../ui/failure-panel.tsx";
import sectionClasses from "../../../ui/section.module.css";
import { Section } from "../../../ui/section.tsx";
import { TableFooter } from "../../../ui/table-footer.tsx";
import { listPageSize, readColumns, writeSort } from "../../../ui/table-search.ts";
import { TableToolbar } from "../../../ui/table-toolbar.tsx";
import { useTableNavigation } from "../../../ui/use-table-navigation.ts";
import { apiKeyColumns } from "../api-key-columns.tsx";
import { defaultSort, toQuery } from "../api-keys-search.ts";
import type { ServiceAccountKeysSearch } from "./service-accounts-search.ts";

const route = getRouteApi("/app/w/$slug/members/service-accounts/$userId");
const refreshMilliseconds = 3_000;

interface ServiceAccountKeysProps {
  readonly workspaceId: string;
  readonly userId: string;
}

/** The API keys of a service account. Each opens the same page as one's own keys. */
export function ServiceAccountKeys({ workspaceId, userId }: ServiceAccountKeysProps): ReactElement {
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { page = 1, size = listPageSize } = search;
  const keys = useQuery({
    ...trpc.serviceAccounts.keys.queryOptions({ workspaceId, userId, ...toQuery({ ...search, size }) }),
    refetchInterval: ({ state }) => !isLoadingFailed(state) && refreshMilliseconds,
    placeholderData: keepPreviousData,
  });
  const failure = useLoadingFailure(keys);
  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const table = useTableNavigation<ServiceAccountKeysSearch>({
    navigate,
    page,
    size,
    total,
    isSection: true,
  });
  return (
    <Section title="API keys" isWide>
      {failure ? (
        <FailurePanel
          title="Couldn’t load API keys"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={keys.isFetching}
          onRetry={() => void keys.refetch()}
        />
      ) : total === 0 ? (
        <p className={sectionClasses.words}>
          No API keys yet. Create one per script or service, so that you can disable each one separately.
        </p>
      ) : (
        <>
          <TableToolbar
            results={total === undefined ? "Loading…" : describeResults({ page, size, total }, "key", "keys")}
            columns={apiKeyColumns}
            search={search}
            onChooseColumns={table.chooseColumns}
          />
          <DataTable
            label="API keys of the service account"
            columns={apiKeyColumns}
            items={keys.data?.items}
            isStale={keys.isPlaceholderData}
            idOf={({ id }) => id}
            chosen={readColumns(search)}
            sort={search.sort ?? defaultSort}
            onSort={(next) => table.change({ sort: writeSort(next, search.sort, defaultSort) })}
            onOpen={({ id }) => void navigate({ to: "/account/api-keys/$keyId", params: { keyId: id } })}
          />
          <TableFooter
            page={page}
            size={size}
            total={keys.data?.total ?? 0}
            onPageChange={table.openPage}
            onSizeChange={(next) => table.change({ size: next === listPageSize ? undefined : next })}
          />
        </>
      )}
    </Section>
  );
}
