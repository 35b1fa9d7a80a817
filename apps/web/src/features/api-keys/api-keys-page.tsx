import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useEffect, useState } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ApiKeyList } from "./api-key-list.tsx";
import { ApiKeyToolbar, type ListState } from "./api-key-toolbar.tsx";
import classes from "./api-keys-page.module.css";
import { DeleteApiKeyDialog } from "./delete-api-key-dialog.tsx";
import { describeResults } from "./describe-results.ts";
import { EditApiKeyDialog } from "./edit-api-key-dialog.tsx";
import { NewApiKeyDialog } from "./new-api-key-dialog.tsx";
import { NoApiKeys } from "./no-api-keys.tsx";
import { NoMatch } from "./no-match.tsx";
import { Pager } from "./pager.tsx";
import { TryItDialog } from "./try-it/try-it-dialog.tsx";
import { findLastPage, useApiKeys } from "./use-api-keys.ts";

const route = getRouteApi("/app/account/api-keys");

interface OpenDialog {
  readonly kind: "edit" | "delete";
  readonly apiKey: ApiKey;
}

export function ApiKeysPage(): ReactElement {
  const { q, page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const keys = useApiKeys(route.useSearch());
  const { isNewOpen, openNew, closeNew } = useNewDialog();
  const [isTryItOpen, tryIt] = useDisclosure(false);
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const edit = useCallback((apiKey: ApiKey) => setOpenDialog({ kind: "edit", apiKey }), []);
  const askToDelete = useCallback((apiKey: ApiKey) => setOpenDialog({ kind: "delete", apiKey }), []);
  const closeDialog = () => setOpenDialog(undefined);
  /** The key a dialog is open for, with its latest figures; undefined while that dialog is closed. */
  const findFor = (kind: OpenDialog["kind"]) => {
    if (openDialog?.kind !== kind) return undefined;
    return keys.data?.items.find(({ id }) => id === openDialog.apiKey.id) ?? openDialog.apiKey;
  };
  const goToPage = (to: number) =>
    void navigate({ search: ({ page: _, ...rest }) => (to > 1 ? { ...rest, page: to } : rest) });
  const search = (text: string) =>
    void navigate({ search: text.trim() === "" ? {} : { q: text }, replace: true });

  const total = keys.isPlaceholderData ? undefined : keys.data?.total;
  const failure = useLoadingFailure(keys);
  const state = failure ? "failed" : describeList(keys);
  const answeredSearch = useAnsweredSearch(q ?? "", total !== undefined);
  const isEmpty = total === 0 && q === undefined;
  const lastPage = findLastPage(total ?? 0);
  useEffect(() => {
    // The last key of the last page is gone, or the address names a page that never was.
    if (total === undefined || page <= lastPage) return;
    void navigate({
      search: ({ page: _, ...rest }) => (lastPage > 1 ? { ...rest, page: lastPage } : rest),
      replace: true,
    });
  }, [total, page, lastPage, navigate]);

  return (
    <>
      <PageHeader
        title="API keys"
        explanation="A key lets your scripts and services call the open API as you. Restrict each to what it is for."
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
          <ApiKeyToolbar
            search={q ?? ""}
            page={page}
            total={failure ? undefined : keys.data?.total}
            state={state}
            onSearch={search}
            onPage={goToPage}
          />
          {failure ? (
            <FailurePanel
              title="Couldn’t load your API keys"
              message={failure.message}
              requestId={failure.requestId}
              isRetrying={keys.isFetching}
              onRetry={() => void keys.refetch()}
            />
          ) : keys.data?.total === 0 ? (
            <NoMatch search={answeredSearch} onClear={() => search("")} />
          ) : (
            <>
              <ApiKeyList
                apiKeys={keys.data?.items}
                isOld={keys.isPlaceholderData}
                onEdit={edit}
                onDelete={askToDelete}
              />
              <div className={classes.foot}>
                {lastPage > 1 && <span className={classes.range}>{describeResults(page, total ?? 0)}</span>}
                <Pager label="Pages, below the list" page={page} total={keys.data?.total} onPage={goToPage} />
              </div>
            </>
          )}
        </>
      )}
      <TryItDialog isOpen={isTryItOpen} onClose={tryIt.close} />
      <NewApiKeyDialog isOpen={isNewOpen} onClose={closeNew} />
      <EditApiKeyDialog apiKey={findFor("edit")} onClose={closeDialog} />
      <DeleteApiKeyDialog apiKey={findFor("delete")} onClose={closeDialog} />
    </>
  );
}

/** Whether the dialog for a new key is open; a link with `?dialog=new` opens it once, a reload does not. */
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

function describeList({ isPlaceholderData, isRefetchError }: ReturnType<typeof useApiKeys>): ListState {
  if (isPlaceholderData) return "loading";
  return isRefetchError ? "stale" : "ready";
}

/** The search that the keys shown answer to: the one of the address, or while that loads the one before. */
function useAnsweredSearch(search: string, isAnswered: boolean): string {
  const [answered, setAnswered] = useState(search);
  if (isAnswered && answered !== search) setAnswered(search);
  return answered;
}
