import { maxLength } from "@latchkey/limits";
import { ActionIcon, Button } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { OperatedWorkspace } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import emptyClasses from "../../ui/empty.module.css";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { listPageSize } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
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
  const table = useTableNavigation<WorkspacesSearch>({
    navigate,
    page: 1,
    size: listPageSize,
    total: undefined,
  });
  const total = workspaces.data?.pages.at(-1)?.total ?? 0;
  return (
    <>
      <PageHeader title="Workspaces" explanation="The workspaces of all tenants, with their sizes." />
      <TableToolbar
        results={
          list.isStale ? "Loading…" : list.items && !list.failure && countOf(total, "workspace", "workspaces")
        }
        columns={workspaceColumns}
        search={search}
        onChooseColumns={table.chooseColumns}
      >
        <SearchField
          label="Search workspaces"
          placeholder="Search by name, URL or ID"
          maxLength={maxLength.search}
          search={search.q ?? ""}
          onSearch={(text) => table.change({ q: text.trim() === "" ? undefined : text })}
        />
      </TableToolbar>
      <GrowingTable
        label="Workspaces"
        list={list}
        failureTitle="Couldn’t load workspaces"
        columns={workspaceColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultWorkspaceSort}
        actions={LogLink}
        actionsWidth={60}
        count={`${formatCount(list.items?.length ?? 0)} of ${countOf(total, "workspace", "workspaces")}`}
        empty={
          <EmptyList isFiltered={search.q !== undefined} onClear={() => table.change({ q: undefined })} />
        }
      />
    </>
  );
}

function LogLink({ id, name }: OperatedWorkspace): ReactElement {
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
          : "Each workspace appears here with its number of people, API keys and requests."}
      </p>
      {isFiltered && (
        <Button variant="default" onClick={onClear}>
          Show all workspaces
        </Button>
      )}
    </section>
  );
}
