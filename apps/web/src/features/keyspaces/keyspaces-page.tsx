import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { cutCompleteKey } from "./key-search.ts";
import { keyspaceColumns } from "./keyspace-columns.tsx";
import { KeyspaceUseProvider } from "./keyspace-use.tsx";
import { defaultKeyspaceSort, type KeyspacesSearch, keyspaceStatusTitles } from "./keyspaces-search.ts";
import { NoKeyspaces } from "./no-keyspaces.tsx";
import { useKeyspaces } from "./use-keyspaces.ts";

const route = getRouteApi("/app/w/$slug/keyspaces");
const newKeyspaceDialog = {
  load: () => import("./new-keyspace-dialog.tsx").then((module) => module.NewKeyspaceDialog),
  closed: { isOpen: false },
};
const nouns = ["keyspace", "keyspaces"] as const;

/** The keyspaces of a workspace. */
export function KeyspacesPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const [isNewOpen, creation] = useDisclosure(false);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const canManage = access.can("keyspaces:manage");
  return (
    <>
      <PageHeader
        title="Keyspaces"
        explanation="The keys that you issue to the consumers of your own API, and verify when they use it."
        action={
          canManage && (
            <Button leftSection={<IconPlus size={16} />} onClick={creation.open} flex="none">
              New keyspace
            </Button>
          )
        }
      />
      <Keyspaces workspace={workspace} onCreate={canManage ? creation.open : undefined} />
      <LazyDialog
        source={newKeyspaceDialog}
        props={{ workspace, isOpen: isNewOpen, onClose: creation.close }}
      />
    </>
  );
}

interface KeyspacesProps {
  readonly workspace: SessionWorkspace;
  /** Absent if the user may not create one. */
  readonly onCreate: (() => void) | undefined;
}

function Keyspaces({ workspace, onCreate }: KeyspacesProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const keyspaces = useKeyspaces(workspace.id, search);
  const list = useGrowingList(keyspaces);
  const table = useTableNavigation<KeyspacesSearch>({ navigate });
  const columns = useMemo(() => keyspaceColumns(workspace.slug), [workspace.slug]);
  const isFiltered = search.q !== undefined || search.status !== undefined;
  return (
    <KeyspaceUseProvider workspaceId={workspace.id} pages={keyspaces.data?.pages}>
      <GrowingTable
        label="Keyspaces"
        searchField={{
          label: "Search keyspaces",
          placeholder: "Name, prefix or environment",
          cut: cutCompleteKey,
        }}
        filters={
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={keyspaceStatusTitles}
            value={search.status}
            onChoose={(status) => table.change({ status })}
          />
        }
        list={list}
        nouns={nouns}
        total={keyspaces.data?.pages.at(-1)?.total ?? 0}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load keyspaces"
        columns={columns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultKeyspaceSort}
        onOpen={({ id }) =>
          void navigate({
            to: "/w/$slug/keyspaces/$keyspaceId",
            params: { slug: workspace.slug, keyspaceId: id },
          })
        }
        empty={
          isFiltered ? (
            <NoMatch
              noun="keyspace"
              search={search.q}
              hasFilters={search.status !== undefined}
              onClear={() => table.change({ q: undefined, status: undefined })}
            >
              Search covers names, prefixes and environments.
            </NoMatch>
          ) : (
            <NoKeyspaces onCreate={onCreate} />
          )
        }
      />
    </KeyspaceUseProvider>
  );
}

function idOf({ id }: Keyspace): string {
  return id;
}
