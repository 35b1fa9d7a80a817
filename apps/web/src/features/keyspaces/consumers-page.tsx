import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import type { Consumer, Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { Section } from "../../ui/section.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { consumerColumns } from "./consumer-columns.tsx";
import { cutCompleteKey } from "./key-search.ts";
import { KeyspaceFrame } from "./keyspace-frame.tsx";
import { KeyspaceHeader } from "./keyspace-header.tsx";
import { type ConsumersSearch, defaultConsumerSort } from "./keyspaces-search.ts";
import { useExaminedList } from "./use-examined-list.ts";
import { useConsumers } from "./use-keyspaces.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/consumers");
const issueDialog = {
  load: () => import("./issue-key-dialog.tsx").then((module) => module.IssueKeyDialog),
  closed: { isOpen: false },
};
const nouns = ["consumer", "consumers"] as const;

/** The consumers that the keys of a keyspace belong to. */
export function ConsumersPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { keyspaceId } = route.useParams();
  return (
    <KeyspaceFrame key={keyspaceId} workspace={workspace} keyspaceId={keyspaceId}>
      {(keyspace, access) => (
        <Loaded workspace={workspace} keyspace={keyspace} canIssue={access.can("keys:manage")} />
      )}
    </KeyspaceFrame>
  );
}

interface LoadedProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly canIssue: boolean;
}

function Loaded({ workspace, keyspace, canIssue }: LoadedProps): ReactElement {
  const [isIssueOpen, issuance] = useDisclosure(false);
  return (
    <>
      <KeyspaceHeader
        workspace={workspace}
        keyspace={keyspace}
        page="Consumers"
        explanation="The customers or users of your API that you issue keys to, identified by their external IDs."
        action={
          canIssue && (
            <Button leftSection={<IconPlus size={16} />} onClick={issuance.open}>
              Issue key
            </Button>
          )
        }
      />
      <Section title="Consumers" isWide>
        <Consumers workspace={workspace} keyspace={keyspace} onIssue={canIssue ? issuance.open : undefined} />
      </Section>
      <LazyDialog
        source={issueDialog}
        props={{ workspaceId: workspace.id, keyspace, isOpen: isIssueOpen, onClose: issuance.close }}
      />
    </>
  );
}

interface ConsumersProps extends Omit<LoadedProps, "canIssue"> {
  /** Absent if the user may not issue keys. */
  readonly onIssue: (() => void) | undefined;
}

function Consumers({ workspace, keyspace, onIssue }: ConsumersProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const list = useExaminedList(useGrowingList(useConsumers(path, search)));
  const table = useTableNavigation<ConsumersSearch>({ navigate, isSection: true });
  const columns = useMemo(() => consumerColumns(workspace.slug), [workspace.slug]);
  const isFiltered = search.q !== undefined;
  return (
    <GrowingTable
      label="Consumers"
      searchField={{
        label: "Search consumers",
        placeholder: "Search by the start of external IDs",
        cut: cutCompleteKey,
      }}
      list={list}
      nouns={nouns}
      total="uncounted"
      isFiltered={isFiltered}
      failureTitle="Couldn’t load consumers"
      columns={columns}
      idOf={idOf}
      search={search}
      navigation={table}
      defaultSort={defaultConsumerSort}
      onOpen={({ externalId }) =>
        void navigate({
          to: "/w/$slug/keyspaces/$keyspaceId/consumers/$externalId",
          params: { slug: workspace.slug, keyspaceId: keyspace.id, externalId },
        })
      }
      empty={
        isFiltered ? (
          <NoMatch
            noun="consumer"
            search={search.q}
            hasFilters={false}
            level={3}
            onClear={() => table.change({ q: undefined })}
          >
            Search covers the start of external IDs.
          </NoMatch>
        ) : (
          <EmptyPanel
            title="No consumers yet"
            level={3}
            action={
              onIssue && (
                <Button leftSection={<IconPlus size={16} />} onClick={onIssue}>
                  Issue a key to a consumer
                </Button>
              )
            }
          >
            A consumer is created with the first key that has its external ID, the ID by which your own system
            knows the customer or user.
          </EmptyPanel>
        )
      }
    />
  );
}

function idOf({ externalId }: Consumer): string {
  return externalId;
}
