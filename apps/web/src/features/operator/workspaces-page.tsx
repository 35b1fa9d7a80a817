import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import type { WorkspaceOverview } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { statusTitles } from "./status-filter.ts";
import { useWorkspaces } from "./use-workspaces.ts";
import { WorkspaceActions } from "./workspace-actions.tsx";
import { workspaceColumns } from "./workspace-columns.tsx";
import { defaultWorkspaceSort, type WorkspacesSearch } from "./workspaces-search.ts";

const route = getRouteApi("/app/operator/workspaces");
const workspaceDialog = {
  load: () => import("./workspace-dialog.tsx").then((module) => module.WorkspaceDialog),
  closed: { workspace: undefined },
};

/** The workspaces of the instance with their sizes, for operators. */
export function WorkspacesPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const workspaces = useWorkspaces(search);
  const list = useGrowingList(workspaces);
  const table = useTableNavigation<WorkspacesSearch>({ navigate });
  const isFiltered = search.q !== undefined || search.status !== undefined;
  const [chosen, setChosen] = useState<WorkspaceOverview>();
  const actions = useCallback(
    (workspace: WorkspaceOverview) => <WorkspaceActions workspace={workspace} onChange={setChosen} />,
    [],
  );
  return (
    <>
      <PageHeader title="Workspaces" explanation="The workspaces of all tenants, with their sizes." />
      <GrowingTable
        label="Workspaces"
        searchField={{ label: "Search workspaces", placeholder: "Name, slug or ID" }}
        filters={
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={statusTitles}
            value={search.status}
            onChoose={(status) => table.change({ status })}
          />
        }
        list={list}
        nouns={["workspace", "workspaces"]}
        total={workspaces.data?.pages.at(-1)?.total ?? 0}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load workspaces"
        columns={workspaceColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultWorkspaceSort}
        actions={actions}
        actionsWidth={60}
        empty={
          isFiltered ? (
            <NoMatch
              noun="workspace"
              search={search.q}
              hasFilters={search.status !== undefined}
              onClear={() => table.change({ q: undefined, status: undefined })}
            >
              Search covers names, slugs and complete workspace IDs.
            </NoMatch>
          ) : (
            <NoWorkspaces />
          )
        }
      />
      <LazyDialog
        source={workspaceDialog}
        props={{ workspace: chosen, onClose: () => setChosen(undefined) }}
      />
    </>
  );
}

function idOf({ id }: WorkspaceOverview): string {
  return id;
}

function NoWorkspaces(): ReactElement {
  return (
    <EmptyPanel title="No workspaces yet">
      Each workspace appears here with its number of people, API keys and requests.
    </EmptyPanel>
  );
}
