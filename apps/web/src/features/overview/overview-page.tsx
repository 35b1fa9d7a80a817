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
  const failure = useLoadingFailure(keys);
  return (
    <>
      <PageHeader title={workspace.name} explanation="Where your keys stand, and what to do next." />
      {failure ? (
        <FailurePanel
          title="The overview could not be loaded"
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
