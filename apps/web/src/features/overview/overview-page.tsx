import { Skeleton } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed, useLoadingFailure } from "../../server/use-loading-failure.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { QuickStart } from "./quick-start.tsx";
import { Totals } from "./totals.tsx";

const refreshMilliseconds = 5_000;

const route = getRouteApi("/app/w/$slug");

export function OverviewPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const keys = useQuery({
    ...trpc.apiKeys.summary.queryOptions(),
    refetchInterval: (query) => !isLoadingFailed(query.state) && refreshMilliseconds,
  });
  const details = useQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id }));
  const failure = useLoadingFailure(keys);
  return (
    <>
      <PageHeader
        title={workspace.name}
        explanation={
          details.isPending ? (
            <Skeleton component="span" display="inline-block" h={12} w={260} maw="100%" />
          ) : (
            <bdi>{details.data?.description || "The status of your keys, and the next steps."}</bdi>
          )
        }
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load the overview"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={keys.isFetching}
          onRetry={() => void keys.refetch()}
        />
      ) : (
        <>
          <Totals progress={keys.data} />
          <QuickStart progress={keys.data} baseUrl={instance.baseUrl} />
        </>
      )}
    </>
  );
}
