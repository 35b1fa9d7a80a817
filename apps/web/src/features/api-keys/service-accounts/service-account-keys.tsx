import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { refreshEvery } from "../../../server/refresh-every.ts";
import { trpc } from "../../../server/trpc.ts";
import { usePagedList } from "../../../server/use-paged-list.ts";
import { EmptyPanel } from "../../../ui/empty-panel.tsx";
import { FilterSelect } from "../../../ui/filter-select.tsx";
import { statusFilters } from "../../../ui/key-status.ts";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { Section } from "../../../ui/section.tsx";
import { listPageSize } from "../../../ui/table-search.ts";
import { useTableNavigation } from "../../../ui/use-table-navigation.ts";
import { apiKeyColumns } from "../api-key-columns.tsx";
import { defaultSort, toQuery } from "../api-keys-search.ts";
import { NoKeyMatches } from "../no-key-matches.tsx";
import type { ServiceAccountKeysSearch } from "./service-accounts-search.ts";

const route = getRouteApi("/app/w/$slug/members/service-accounts/$userId");
const refreshMilliseconds = 3_000;

interface ServiceAccountKeysProps {
  readonly workspaceId: string;
  readonly userId: string;
  /** Opens the dialog for a new key. */
  readonly onCreate: () => void;
}

/** The API keys of a service account. Each opens the same page as the user's own keys. */
export function ServiceAccountKeys({ workspaceId, userId, onCreate }: ServiceAccountKeysProps): ReactElement {
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { q = "", status, page = 1, size = listPageSize } = search;
  const isFiltered = q !== "" || status !== undefined;
  const keys = useQuery({
    ...trpc.serviceAccounts.keys.queryOptions({ workspaceId, userId, ...toQuery({ ...search, size }) }),
    ...refreshEvery(refreshMilliseconds),
    placeholderData: keepPreviousData,
  });
  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const table = useTableNavigation<ServiceAccountKeysSearch>({
    navigate,
    pages: { page, size, total },
    isSection: true,
  });
  return (
    <Section title="API keys" isWide>
      <PagedTable
        label="API keys of the service account"
        searchField={{ label: "Search API keys", placeholder: "Search keys" }}
        filters={
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={statusFilters}
            value={status}
            onChoose={(chosen) => table.change({ status: chosen })}
            width={220}
          />
        }
        list={usePagedList(keys)}
        nouns={["key", "keys"]}
        total={keys.data?.total ?? 0}
        defaultSize={listPageSize}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load API keys"
        columns={apiKeyColumns}
        isTall
        idOf={({ id }) => id}
        search={search}
        navigation={table}
        defaultSort={defaultSort}
        onOpen={({ id }) => void navigate({ to: "/account/api-keys/$keyId", params: { keyId: id } })}
        empty={
          isFiltered ? (
            <NoKeyMatches
              level={3}
              search={q}
              status={status}
              onClear={() => table.change({ q: undefined, status: undefined })}
            />
          ) : (
            <EmptyPanel
              title="No API keys yet"
              level={3}
              action={
                <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
                  Create its first key
                </Button>
              }
            >
              Create one key per script or service, so that you can disable each one separately.
            </EmptyPanel>
          )
        }
      />
    </Section>
  );
}
