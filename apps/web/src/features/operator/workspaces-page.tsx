import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import type { WorkspaceOverview } from "../../server/trpc.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { OperatorTable } from "./operator-table.tsx";
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
  const [chosen, setChosen] = useState<WorkspaceOverview>();
  const actions = useCallback(
    (workspace: WorkspaceOverview) => <WorkspaceActions workspace={workspace} onChange={setChosen} />,
    [],
  );
  return (
    <>
      <OperatorTable
        title="Workspaces"
        explanation="The workspaces of all tenants, with their sizes."
        placeholder="Name, slug or ID"
        coverage="names, slugs and complete workspace IDs"
        query={useWorkspaces(search)}
        nouns={["workspace", "workspaces"]}
        columns={workspaceColumns}
        search={search}
        navigation={useTableNavigation<WorkspacesSearch>({ navigate: route.useNavigate() })}
        defaultSort={defaultWorkspaceSort}
        actions={actions}
        actionsWidth={60}
        empty={
          <EmptyPanel title="No workspaces yet">
            Each workspace appears here with its number of people, API keys and requests.
          </EmptyPanel>
        }
      />
      <LazyDialog
        source={workspaceDialog}
        props={{ workspace: chosen, onClose: () => setChosen(undefined) }}
      />
    </>
  );
}
