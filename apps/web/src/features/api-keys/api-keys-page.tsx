import { maxLength } from "@latchkey/limits";
import { Button, Group, Select } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, useNavigate as useAppNavigate } from "@tanstack/react-router";
import { type ReactElement, useCallback, useEffect, useState } from "react";
import type { ListedApiKey } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { describeResults } from "../../ui/describe-results.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { isStatusFilter, type StatusFilter, statusFilters } from "../../ui/key-status.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { TableFooter } from "../../ui/table-footer.tsx";
import { defaultPageSize, readColumns, readSelected, writeSort } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import toolbarClasses from "../../ui/toolbar.module.css";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { ApiKeyActions } from "./api-key-actions.tsx";
import { apiKeyColumns } from "./api-key-columns.tsx";
import { type ApiKeysSearch, defaultSort } from "./api-keys-search.ts";
import { bulkActions, bulkKeys } from "./bulk-actions.ts";
import { NoApiKeys } from "./no-api-keys.tsx";
import { NoMatch } from "./no-match.tsx";
import { useApiKeys } from "./use-api-keys.ts";

const route = getRouteApi("/app/account/api-keys");
const tryItDialog = {
  load: () => import("./try-it/try-it-dialog.tsx").then((module) => module.TryItDialog),
  closed: { isOpen: false },
};
const newApiKeyDialog = {
  load: () => import("./new-api-key-dialog.tsx").then((module) => module.NewApiKeyDialog),
  closed: { isOpen: false },
};
const editApiKeyDialog = {
  load: () => import("./edit-api-key-dialog.tsx").then((module) => module.EditApiKeyDialog),
  closed: { apiKey: undefined },
};
const deleteApiKeyDialog = {
  load: () => import("./delete-api-key-dialog.tsx").then((module) => module.DeleteApiKeyDialog),
  closed: { apiKey: undefined },
};

interface OpenDialog {
  readonly kind: "edit" | "delete";
  readonly apiKey: ListedApiKey;
}

export function ApiKeysPage(): ReactElement {
  const search = route.useSearch();
  const { q = "", status, sort = defaultSort, page = 1, size = defaultPageSize } = search;
  const navigate = route.useNavigate();
  const openPage = useAppNavigate();
  const keys = useApiKeys(search);
  const { isNewOpen, openNew, closeNew } = useNewDialog();
  const [isTryItOpen, tryIt] = useDisclosure(false);
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const closeDialog = () => setOpenDialog(undefined);
  /**
   * Returns the latest data of the key whose dialog is open, or undefined if a dialog of this kind
   * is closed.
   */
  const findDialogKey = (kind: OpenDialog["kind"]) => {
    if (openDialog?.kind !== kind) return undefined;
    return keys.data?.items.find(({ id }) => id === openDialog.apiKey.id) ?? openDialog.apiKey;
  };
  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const table = useTableNavigation<ApiKeysSearch>({ navigate, page, size, total });
  const { change } = table;
  const selected = readSelected(search);
  const open = useCallback(
    ({ id }: ListedApiKey) => void openPage({ to: "/account/api-keys/$keyId", params: { keyId: id } }),
    [openPage],
  );
  const actions = useCallback(
    (apiKey: ListedApiKey) => (
      <ApiKeyActions
        name={apiKey.name}
        onEdit={() => setOpenDialog({ kind: "edit", apiKey })}
        onDelete={() => setOpenDialog({ kind: "delete", apiKey })}
      />
    ),
    [],
  );

  const failure = useLoadingFailure(keys);
  const loadedFilter = useLoadedFilter({ q, status }, total !== undefined);
  const isEmpty = total === 0 && q === "" && status === undefined;

  return (
    <>
      <PageHeader
        title="Your API keys"
        explanation="A key lets your scripts and services call the open API as you. Restrict each key to its purpose."
        action={
          <Group gap={8} wrap="nowrap">
            <Button variant="default" onClick={tryIt.open} flex="none">
              Try it
            </Button>
            <Button
              variant={isEmpty ? "default" : "filled"}
              leftSection={<IconPlus size={16} />}
              onClick={openNew}
              flex="none"
            >
              New API key
            </Button>
          </Group>
        }
      />
      {isEmpty ? (
        <NoApiKeys onCreate={openNew} />
      ) : (
        <>
          <TableToolbar
            results={describeList(keys, { page, size, isFailed: failure !== undefined })}
            columns={apiKeyColumns}
            search={search}
            onChooseColumns={table.chooseColumns}
          >
            <SearchField
              label="Search API keys"
              placeholder="Search keys"
              maxLength={maxLength.search}
              search={q}
              onSearch={(text) => change({ q: text.trim() === "" ? undefined : text })}
            />
            <Select
              className={toolbarClasses.filter}
              w={220}
              aria-label="Status"
              allowDeselect={false}
              data={statusOptions}
              value={status ?? anyStatus.value}
              onChange={(value) => change({ status: isStatusFilter(value) ? value : undefined })}
            />
          </TableToolbar>
          {failure ? (
            <FailurePanel
              title="Couldn’t load your API keys"
              message={failure.message}
              requestId={failure.requestId}
              isRetrying={keys.isFetching}
              onRetry={() => void keys.refetch()}
            />
          ) : keys.data?.total === 0 ? (
            <NoMatch
              search={loadedFilter.q}
              status={loadedFilter.status}
              onClear={() => change({ q: undefined, status: undefined })}
            />
          ) : (
            <>
              <BulkBar
                {...bulkKeys}
                items={keys.data?.items.filter(({ id }) => selected.has(id)) ?? []}
                actions={bulkActions}
                onClear={() => table.select(new Set())}
              />
              <DataTable
                label="API keys"
                columns={apiKeyColumns}
                items={keys.data?.items}
                isStale={keys.isPlaceholderData}
                idOf={idOf}
                chosen={readColumns(search)}
                sort={sort}
                onSort={(next) => change({ sort: writeSort(next, search.sort, defaultSort) })}
                onOpen={open}
                actions={actions}
                selection={{ selected, onSelect: table.select, nameOf: bulkKeys.nameOf }}
              />
              <TableFooter
                page={page}
                size={size}
                total={keys.data?.total ?? 0}
                onPageChange={table.openPage}
                onSizeChange={(next) => change({ size: next === defaultPageSize ? undefined : next })}
              />
            </>
          )}
        </>
      )}
      <LazyDialog source={tryItDialog} props={{ isOpen: isTryItOpen, onClose: tryIt.close }} />
      <LazyDialog source={newApiKeyDialog} props={{ isOpen: isNewOpen, onClose: closeNew }} />
      <LazyDialog source={editApiKeyDialog} props={{ apiKey: findDialogKey("edit"), onClose: closeDialog }} />
      <LazyDialog
        source={deleteApiKeyDialog}
        props={{ apiKey: findDialogKey("delete"), onClose: closeDialog }}
      />
    </>
  );
}

const anyStatus = { value: "any", label: "Any status" };
const statusOptions = [
  anyStatus,
  ...Object.entries(statusFilters).map(([value, label]) => ({ value, label })),
];

function idOf({ id }: ListedApiKey): string {
  return id;
}

/**
 * The state of the dialog for a new key. `?dialog=new` opens it and is then removed from the URL, so that
 * a reload doesn't open it again.
 */
function useNewDialog() {
  const { dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const [isNewOpen, { open: openNew, close: closeNew }] = useDisclosure(false);
  useEffect(() => {
    if (dialog !== "new") return;
    openNew();
    void navigate({ search: ({ dialog: _, ...rest }) => rest, replace: true });
  }, [dialog, navigate, openNew]);
  return { isNewOpen, openNew, closeNew };
}

function describeList(
  keys: ReturnType<typeof useApiKeys>,
  { page, size, isFailed }: { readonly page: number; readonly size: number; readonly isFailed: boolean },
): string {
  if (keys.isPlaceholderData) return "Loading…";
  if (isFailed || !keys.data) return "";
  if (keys.isRefetchError) return "Not up to date. Retrying…";
  return describeResults({ page, size, total: keys.data.total }, "key", "keys");
}

type Filter = { readonly q: string; readonly status: StatusFilter | undefined };

/**
 * The filter that the list was loaded with: the one in the URL, or the previous one while the list
 * loads.
 */
function useLoadedFilter(filter: Filter, isLoaded: boolean): Filter {
  const [loadedFilter, setLoadedFilter] = useState(filter);
  const isChanged = loadedFilter.q !== filter.q || loadedFilter.status !== filter.status;
  if (isLoaded && isChanged) setLoadedFilter(filter);
  return loadedFilter;
}
