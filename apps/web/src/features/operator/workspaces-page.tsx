import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import type { OperatedWorkspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import classes from "../../ui/toolbar.module.css";
import { useWorkspaces } from "./use-workspaces.ts";
import { workspaceColumns } from "./workspace-columns.tsx";
import { defaultSort, isWorkspaceSort, type WorkspacesSearch } from "./workspaces-search.ts";

const route = getRouteApi("/app/operator/workspaces");

/** The workspaces of the instance with their sizes, for operators. */
export function WorkspacesPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const workspaces = useWorkspaces(search);
  const failure = useLoadingFailure(workspaces);
  const change = (next: { readonly [Name in keyof WorkspacesSearch]?: WorkspacesSearch[Name] | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...next }) as WorkspacesSearch, replace: true });
  const { q = "", sort = defaultSort } = search;
  const shown = workspaces.data?.pages.flatMap(({ items }) => items);
  const total = workspaces.data?.pages.at(-1)?.total;
  return (
    <>
      <PageHeader title="Workspaces" explanation="The workspaces of all tenants, with their sizes." />
      <div className={classes.toolbar}>
        <div className={classes.filters}>
          <SearchField
            label="Search workspaces"
            placeholder="Search name, URL or ID"
            maxLength={maxLength.search}
            search={q}
            onSearch={(text) => change({ q: text.trim() === "" ? undefined : text })}
          />
        </div>
        <div className={classes.results}>
          <span role="status" className={classes.count}>
            {workspaces.isPlaceholderData
              ? "Loading…"
              : !failure && total !== undefined && countOf(total, "workspace", "workspaces")}
          </span>
        </div>
      </div>
      {failure ? (
        <FailurePanel
          title="Couldn’t load workspaces"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={workspaces.isFetching}
          onRetry={() => void workspaces.refetch()}
        />
      ) : total === 0 ? (
        <EmptyList isFiltered={q !== ""} onClear={() => change({ q: undefined })} />
      ) : (
        <>
          <DataTable
            label="Workspaces"
            columns={workspaceColumns}
            items={shown}
            isStale={workspaces.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
            sort={sort}
            onSort={(next) =>
              change({ sort: isWorkspaceSort(next) && next !== defaultSort ? next : undefined })
            }
          />
          {shown && total !== undefined && (workspaces.hasNextPage || shown.length > 50) && (
            <ShowMore
              hasMore={workspaces.hasNextPage}
              isLoading={workspaces.isFetchingNextPage}
              failure={
                workspaces.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(workspaces.error).message}`
                  : undefined
              }
              onShowMore={() => void workspaces.fetchNextPage()}
            >
              {formatCount(shown.length)} of {countOf(total, "workspace", "workspaces")}
            </ShowMore>
          )}
        </>
      )}
    </>
  );
}

function idOf({ id }: OperatedWorkspace): string {
  return id;
}

interface EmptyListProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function EmptyList({ isFiltered, onClear }: EmptyListProps): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>{isFiltered ? "No workspace matches" : "No workspaces yet"}</h2>
      <p className={emptyClasses.words}>
        {isFiltered
          ? "Search covers names, URLs and complete workspace IDs."
          : "Each workspace appears here with the numbers of its members, API keys and requests."}
      </p>
      {isFiltered && (
        <Button variant="default" onClick={onClear}>
          Show all workspaces
        </Button>
      )}
    </section>
  );
}
