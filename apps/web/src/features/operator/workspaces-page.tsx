import { ActionIcon } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { WorkspaceOverview } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { useWorkspaces } from "./use-workspaces.ts";
import { workspaceColumns } from "./workspace-columns.tsx";
import { defaultWorkspaceSort, type WorkspacesSearch } from "./workspaces-search.ts";

const route = getRouteApi("/app/operator/workspaces");

/** The workspaces of the instance with their sizes, for operators. */
export function WorkspacesPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const workspaces = useWorkspaces(search);
  const list = useGrowingList(workspaces);
  const table = useTableNavigation<WorkspacesSearch>({ navigate });
  const isFiltered = search.q !== undefined;
  return (
    <>
      <PageHeader title="Workspaces" explanation="The workspaces of all tenants, with their sizes." />
      <GrowingTable
        label="Workspaces"
        searchField={{ label: "Search workspaces", placeholder: "Search by name, slug or ID" }}
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
        actions={LogLink}
        actionsWidth={60}
        empty={
          isFiltered ? (
            <NoMatch noun="workspace" search={search.q} onClear={() => table.change({ q: undefined })}>
              Search covers names, slugs and complete workspace IDs.
            </NoMatch>
          ) : (
            <NoWorkspaces />
          )
        }
      />
    </>
  );
}

function LogLink({ id, name }: WorkspaceOverview): ReactElement {
  return (
    <ActionIcon
      variant="subtle"
      aria-label={`Show ${name} in the instance log`}
      title="Show in the instance log"
      renderRoot={(props) => <Link {...props} to="/operator/log" search={{ target: id }} />}
    >
      <IconHistory size={16} />
    </ActionIcon>
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
