import { Button, Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isNotFound } from "../../server/refresh-every.ts";
import type { SessionWorkspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";

interface KeyspaceFrameProps<Item> {
  readonly workspace: SessionWorkspace;
  /** "Keyspace" or "Key". */
  readonly noun: string;
  readonly query: UseQueryResult<Item, unknown>;
  readonly children: (item: Item) => ReactElement;
}

/** The page of a keyspace or a key, or what replaces it while it loads, if loading fails, and if there is none. */
export function KeyspaceFrame<Item>(props: KeyspaceFrameProps<Item>): ReactElement {
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
