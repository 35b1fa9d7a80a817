import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, useNavigate as useAppNavigate } from "@tanstack/react-router";
import { type ReactElement, useCallback, useEffect, useState } from "react";
import type { ListedApiKey } from "../../server/trpc.ts";
import { usePagedList } from "../../server/use-paged-list.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { type StatusFilter, statusFilters } from "../../ui/key-status.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { defaultPageSize } from "../../ui/table-search.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { ApiKeyActions } from "./api-key-actions.tsx";
import { apiKeyColumns } from "./api-key-columns.tsx";
import { type ApiKeysSearch, defaultSort } from "./api-keys-search.ts";
import { bulkActions, bulkKeys } from "./bulk-actions.ts";
import { NoApiKeys } from "./no-api-keys.tsx";
import { NoKeyMatches } from "./no-key-matches.tsx";
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
  const { q = "", status, page = 1, size = defaultPageSize } = search;
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
  const table = useTableNavigation<ApiKeysSearch>({ navigate, pages: { page, size, total } });
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

  const list = usePagedList(keys);
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
        <PagedTable
          label="API keys"
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
          list={list}
          nouns={bulkKeys.nouns}
          total={keys.data?.total ?? 0}
          defaultSize={defaultPageSize}
          status={keys.isRefetchError ? "Not up to date. Retrying…" : undefined}
          isFiltered={q !== "" || status !== undefined}
          failureTitle="Couldn’t load your API keys"
          columns={apiKeyColumns}
          isTall
          idOf={idOf}
          search={search}
          navigation={table}
          defaultSort={defaultSort}
          onOpen={open}
          actions={actions}
          selection={{
            nameOf: bulkKeys.nameOf,
            bar: (items, onSelect) => (
              <BulkBar {...bulkKeys} items={items} actions={bulkActions} onSelect={onSelect} />
            ),
          }}
          empty={
            <NoKeyMatches
              search={loadedFilter.q}
              status={loadedFilter.status}
              onClear={() => table.change({ q: undefined, status: undefined })}
            />
          }
        />
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
