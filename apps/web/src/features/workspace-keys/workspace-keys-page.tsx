import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate as useAppNavigate } from "@tanstack/react-router";
import { type ReactElement, useCallback, useMemo, useState } from "react";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc, type WorkspaceKey } from "../../server/trpc.ts";
import { usePagedList } from "../../server/use-paged-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { hasKeyPage } from "../../ui/has-key-page.ts";
import { workspaceStatusFilters } from "../../ui/key-status.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { defaultPageSize } from "../../ui/table-search.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { BlockBar } from "./block-bar.tsx";
import { type BlockRequest, canUnblock } from "./block-request.ts";
import { workspaceKeyColumns } from "./workspace-key-columns.tsx";
import { defaultSort, toQuery, type WorkspaceKeysSearch } from "./workspace-keys-search.ts";

const route = getRouteApi("/app/w/$slug/api-keys");
const refreshMilliseconds = 5_000;
const blockDialog = {
  load: () => import("./block-dialog.tsx").then((module) => module.BlockDialog),
  closed: { request: undefined },
};

/** The API keys that can reach a workspace. */
export function WorkspaceKeysPage(): ReactElement {
  const { session, workspace } = route.useRouteContext();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const openPage = useAppNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const keys = useQuery({
    ...trpc.workspaceKeys.list.queryOptions({ workspaceId: workspace.id, ...toQuery(search) }),
    ...refreshEvery(refreshMilliseconds),
    placeholderData: keepPreviousData,
  });
  const list = usePagedList(keys);
  const ownId = session.user.id;
  const columns = useMemo(() => workspaceKeyColumns(ownId), [ownId]);
  const open = useCallback(
    (key: WorkspaceKey) => {
      if (hasKeyPage(key, ownId))
        void openPage({ to: "/account/api-keys/$keyId", params: { keyId: key.id } });
    },
    [openPage, ownId],
  );
  const [request, setRequest] = useState<BlockRequest>();
  const actions = useCallback((key: WorkspaceKey) => {
    const action = canUnblock(key) ? "unblock" : "block";
    const label = action === "block" ? "Block" : "Unblock";
    return (
      <Button
        variant="default"
        size="xs"
        aria-label={`${label} ${key.name}`}
        onClick={() => setRequest({ action, apiKeys: [key], isSelection: false })}
      >
        {label}
      </Button>
    );
  }, []);
  const { q = "", status, page = 1, size = defaultPageSize } = search;
  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const table = useTableNavigation<WorkspaceKeysSearch>({ navigate, pages: { page, size, total } });
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const canSeeAllKeys = access.can("api-keys:read");
  const canManage = access.can("api-keys:manage");
  const isFiltered = q !== "" || status !== undefined;
  return (
    <>
      <PageHeader
        title="API keys"
        explanation={
          canSeeAllKeys
            ? "All API keys that can reach this workspace. Their owners manage them, and you can block them here."
            : "Your API keys that can reach this workspace. Owners and admins see the keys of all members."
        }
        action={
          <Button
            variant="default"
            renderRoot={(props) => <Link {...props} to="/account/api-keys" />}
            flex="none"
          >
            Manage your API keys
          </Button>
        }
      />
      <PagedTable<WorkspaceKey>
        label="API keys"
        searchField={{ label: "Search API keys", placeholder: "Search keys and owners" }}
        filters={
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={workspaceStatusFilters}
            value={status}
            onChoose={(chosen) => table.change({ status: chosen })}
            width={220}
          />
        }
        list={list}
        nouns={["key", "keys"]}
        total={keys.data?.total ?? 0}
        defaultSize={defaultPageSize}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load API keys"
        columns={columns}
        isTall
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultSort}
        onOpen={open}
        {...(canManage && { actions })}
        selection={
          canManage && {
            nameOf,
            bar: (apiKeys, onSelect) => (
              <BlockBar apiKeys={apiKeys} onRequest={setRequest} onClear={() => onSelect([])} />
            ),
          }
        }
        empty={
          isFiltered ? (
            <NoMatch
              noun="key"
              search={q}
              hasFilters={status !== undefined}
              onClear={() => table.change({ q: undefined, status: undefined })}
            >
              Search covers the names and first characters of keys, and the names and email addresses of their
              owners.
            </NoMatch>
          ) : (
            <NoKeys />
          )
        }
      />
      <LazyDialog
        source={blockDialog}
        props={{
          workspace,
          request,
          onClose: () => setRequest(undefined),
          onDone: () => {
            if (request?.isSelection) table.select(new Set());
          },
        }}
      />
    </>
  );
}

function nameOf({ name }: WorkspaceKey): string {
  return name;
}

function idOf({ id }: WorkspaceKey): string {
  return id;
}

function NoKeys(): ReactElement {
  return (
    <EmptyPanel
      title="No API keys yet"
      action={
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/account/api-keys" search={{ dialog: "new" }} />}
        >
          New API key
        </Button>
      }
    >
      Keys that members create appear here if they can reach this workspace.
    </EmptyPanel>
  );
}
