import { Button, Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isNotFound } from "../../server/failure.ts";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess, type WorkspaceAccess } from "../../server/use-workspace-access.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useKeyspace } from "./use-keyspaces.ts";

interface KeyspaceFrameProps {
  readonly workspace: SessionWorkspace;
  readonly keyspaceId: string;
  readonly children: (keyspace: Keyspace, access: WorkspaceAccess) => ReactElement;
}

/** A page of a keyspace, or what replaces it while it loads, or if it can't be shown. */
export function KeyspaceFrame({ workspace, keyspaceId, children }: KeyspaceFrameProps): ReactElement {
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const query = useKeyspace({ workspaceId: workspace.id, keyspaceId });
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  return (
    <ItemFrame workspace={workspace} noun="Keyspace" query={query}>
      {(keyspace) => children(keyspace, access)}
    </ItemFrame>
  );
}

interface ItemFrameProps<Item> {
  readonly workspace: SessionWorkspace;
  /** "Keyspace", "Key" or "Consumer". */
  readonly noun: string;
  readonly query: UseQueryResult<Item, unknown>;
  readonly children: (item: Item) => ReactElement;
}

/** The page of a keyspace, a key or a consumer, or what replaces it while it loads, if loading fails, and if there is none. */
export function ItemFrame<Item>(props: ItemFrameProps<Item>): ReactElement {
  const { workspace, noun, query, children } = props;
  const failure = useLoadingFailure(query);
  const parent = (
    <Link to="/w/$slug/keyspaces" params={{ slug: workspace.slug }}>
      Keyspaces
    </Link>
  );
  if (isNotFound(query.error)) {
    return (
      <>
        <PageHeader title={noun} parent={parent} explanation="It doesn’t exist, or it was deleted." />
        <EmptyPanel
          title={`${noun} not found`}
          action={
            <Button
              variant="default"
              renderRoot={(rootProps) => (
                <Link {...rootProps} to="/w/$slug/keyspaces" params={{ slug: workspace.slug }} />
              )}
            >
              Go to keyspaces
            </Button>
          }
        >
          The {noun.toLowerCase()} was deleted, or the URL is incomplete.
        </EmptyPanel>
      </>
    );
  }
  if (failure) {
    return (
      <>
        <PageHeader title={noun} parent={parent} explanation="Settings and uses." />
        <FailurePanel
          title={`Couldn’t load the ${noun.toLowerCase()}`}
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      </>
    );
  }
  if (query.data) return children(query.data);
  return (
    <div aria-busy="true" role="status" aria-label={`Loading the ${noun.toLowerCase()}`}>
      <Skeleton h={16} w={80} mb={8} />
      <Skeleton h={20} w={220} my={4} />
      <Skeleton h={12} w={320} mt={10} mb={32} maw="100%" />
      <Skeleton h={190} mt={32} mb={32} />
      <Skeleton h={260} />
    </div>
  );
}
