import { maxLength } from "@latchkey/limits";
import { Button, Select } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate as useAppNavigate } from "@tanstack/react-router";
import { type ReactElement, useCallback, useMemo, useState } from "react";
import { trpc, type WorkspaceKey } from "../../server/trpc.ts";
import { isLoadingFailed, useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { describeResults } from "../../ui/describe-results.ts";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { isWorkspaceStatusFilter, workspaceStatusFilters } from "../../ui/key-status.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { TableFooter } from "../../ui/table-footer.tsx";
import { defaultPageSize, readColumns, readSelected, writeSort } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import toolbarClasses from "../../ui/toolbar.module.css";
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
const anyStatus = { value: "any", label: "Any status" };

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
    refetchInterval: ({ state }) => !isLoadingFailed(state) && refreshMilliseconds,
    placeholderData: keepPreviousData,
  });
  const failure = useLoadingFailure(keys);
  const ownId = session.user.id;
  const columns = useMemo(() => workspaceKeyColumns(ownId), [ownId]);
  const open = useCallback(
    ({ id, owner }: WorkspaceKey) => {
      if (owner.id === ownId) void openPage({ to: "/account/api-keys/$keyId", params: { keyId: id } });
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
        onClick={() => setRequest({ action, apiKeys: [key] })}
      >
        {label}
      </Button>
    );
  }, []);
  const { q = "", status, sort = defaultSort, page = 1, size = defaultPageSize } = search;
  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const table = useTableNavigation<WorkspaceKeysSearch>({ navigate, page, size, total });
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const canSeeAllKeys = access.can("keys:read");
  const canManage = access.can("keys:manage");
  const selected = readSelected(search);
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
      <TableToolbar
        results={
          keys.isPlaceholderData
            ? "Loading…"
            : !failure && total !== undefined && describeResults({ page, size, total }, "key", "keys")
        }
        columns={columns}
        search={search}
        onChooseColumns={table.chooseColumns}
      >
        <SearchField
          label="Search API keys"
          placeholder="Search keys and owners"
          maxLength={maxLength.search}
          search={q}
          onSearch={(text) => table.change({ q: text.trim() === "" ? undefined : text })}
        />
        <Select
          className={toolbarClasses.filter}
          w={220}
          aria-label="Status"
          allowDeselect={false}
          data={[
            anyStatus,
            ...Object.entries(workspaceStatusFilters).map(([value, label]) => ({ value, label })),
          ]}
          value={status ?? anyStatus.value}
          onChange={(value) => table.change({ status: isWorkspaceStatusFilter(value) ? value : undefined })}
        />
      </TableToolbar>
      {failure ? (
        <FailurePanel
          title="Couldn’t load API keys"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={keys.isFetching}
          onRetry={() => void keys.refetch()}
        />
      ) : total === 0 ? (
        <EmptyList
          isFiltered={isFiltered}
          onClear={() => table.change({ q: undefined, status: undefined })}
        />
      ) : (
        <>
          {canManage && (
            <BlockBar
              apiKeys={keys.data?.items.filter(({ id }) => selected.has(id)) ?? []}
              onRequest={setRequest}
              onClear={() => table.select(new Set())}
            />
          )}
          <DataTable
            label="API keys"
            columns={columns}
            items={keys.data?.items}
            isStale={keys.isPlaceholderData}
            idOf={idOf}
            chosen={readColumns(search)}
            sort={sort}
            onSort={(next) => table.change({ sort: writeSort(next, search.sort, defaultSort) })}
            onOpen={open}
            {...(canManage && { actions, selection: { selected, onSelect: table.select, nameOf } })}
          />
          <TableFooter
            page={page}
            size={size}
            total={keys.data?.total ?? 0}
            onPageChange={table.openPage}
            onSizeChange={(next) => table.change({ size: next === defaultPageSize ? undefined : next })}
          />
        </>
      )}
      <LazyDialog
        source={blockDialog}
        props={{
          workspace,
          request,
          onClose: () => setRequest(undefined),
          onDone: () => table.select(new Set()),
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

interface EmptyListProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function EmptyList({ isFiltered, onClear }: EmptyListProps): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>{isFiltered ? "No key matches" : "No API keys yet"}</h2>
      <p className={emptyClasses.words}>
        {isFiltered
          ? "Search covers the names and first characters of keys, and the names and email addresses of their owners."
          : "Keys that members create appear here if they can reach this workspace."}
      </p>
      {isFiltered ? (
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      ) : (
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/account/api-keys" search={{ dialog: "new" }} />}
        >
          New API key
        </Button>
      )}
    </section>
  );
}
