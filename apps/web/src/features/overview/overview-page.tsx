import { Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { UsageRangePicker } from "../../server/usage-range-picker.tsx";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useUsageRange } from "../../server/use-usage-range.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import lists from "../../ui/item-list.module.css";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Section } from "../../ui/section.tsx";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { useNow } from "../../ui/use-now.ts";
import { Activity } from "./activity.tsx";
import { KeyLists } from "./key-lists.tsx";
import { NewestMembers } from "./newest-members.tsx";
import classes from "./overview.module.css";
import { QuickStart } from "./quick-start.tsx";
import { Verifications } from "./verifications.tsx";

/** Requests, keys and progress are read again often, and verifications, which cost more, less often. */
const refreshOptions = refreshEvery(5_000);
const slowRefreshOptions = refreshEvery(15_000);

const route = getRouteApi("/app/w/$slug/");

/** The overview of a workspace: requests, keys, changes and members. */
export function OverviewPage(): ReactElement {
  const { session, workspace } = route.useRouteContext();
  const range = useUsageRange(route.useSearch());
  const navigate = route.useNavigate();
  const now = useNow();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const buckets = { workspaceId: workspace.id, ...usageBuckets(range, now) };
  const usage = useQuery({
    ...trpc.overview.usage.queryOptions(buckets),
    ...refreshOptions,
    placeholderData: keepPreviousData,
  });
  const keys = useQuery({
    ...trpc.overview.keys.queryOptions(buckets),
    ...refreshOptions,
    placeholderData: keepPreviousData,
  });
  const canReadKeys = access.can("keys:read");
  const verifications = useQuery({
    ...trpc.overview.verifications.queryOptions(buckets),
    ...slowRefreshOptions,
    placeholderData: keepPreviousData,
    enabled: canReadKeys,
  });
  const progress = useQuery({ ...trpc.apiKeys.summary.queryOptions(), ...refreshOptions });
  const usageFailure = useLoadingFailure(usage);
  const keysFailure = useLoadingFailure(keys);
  const verificationsFailure = useLoadingFailure(verifications);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const { data: details, isPending } = access.query;
  const isStarted = progress.data !== undefined && progress.data.keyCount > 0 && progress.data.usageCount > 0;
  const hasRequests = (usage.data?.length ?? 0) > 0;
  const isNew = progress.isSuccess && !isStarted && !hasRequests;
  const hasVerifications = canReadKeys && (verificationsFailure ?? verifications.data);
  // These queries decide which sections there are. Waiting for all of them avoids a layout shift.
  const isLoading =
    ((progress.isPending || usage.isPending) && !usageFailure) ||
    (verifications.isLoading && !verificationsFailure);
  return (
    <>
      <PageHeader
        title={workspace.name}
        explanation={
          isPending ? (
            <Skeleton component="span" display="inline-block" h={12} w={260} maw="100%" />
          ) : (
            <bdi>{details?.description || "Requests, API keys and changes in this workspace."}</bdi>
          )
        }
      />
      {isLoading && <Skeleton h={480} />}
      {!isLoading && isNew && (
        <QuickStart progress={progress.data} baseUrl={instance.baseUrl} workspaceId={workspace.id} />
      )}
      {!isLoading && (
        <>
          <ChartSection
            title="Requests"
            isWide
            action={
              <UsageRangePicker
                range={range}
                onChoose={(search) => void navigate({ search, replace: true, resetScroll: false })}
              />
            }
            query={usage}
            failureTitle="Couldn’t load requests"
          >
            {(rows) => (
              <>
                <UsageChart rows={rows} range={range} now={now} />
                {!hasRequests && (
                  <p className={classes.note}>
                    Only requests to this workspace are counted here, such as{" "}
                    <code>GET /open/workspaces/{workspace.id}</code>. The page of an API key counts all of its
                    requests.
                  </p>
                )}
              </>
            )}
          </ChartSection>
          {hasVerifications && (
            <Verifications workspace={workspace} range={range} now={now} query={verifications} />
          )}
          <div className={lists.columns}>
            <div>
              {keysFailure ? (
                <Section title="API keys">
                  <FailurePanel
                    title="Couldn’t load API keys"
                    message={keysFailure.message}
                    requestId={keysFailure.requestId}
                    isRetrying={keys.isFetching}
                    onRetry={() => void keys.refetch()}
                  />
                </Section>
              ) : (
                <KeyLists
                  keys={keys.data}
                  isOtherRange={keys.isPlaceholderData}
                  range={range}
                  slug={workspace.slug}
                  ownId={session.user.id}
                />
              )}
            </div>
            <div>
              {access.can("audit:read") && <Activity workspaceId={workspace.id} slug={workspace.slug} />}
              <NewestMembers workspaceId={workspace.id} slug={workspace.slug} />
            </div>
          </div>
        </>
      )}
      {!isLoading && !isNew && progress.data && (
        <QuickStart progress={progress.data} baseUrl={instance.baseUrl} workspaceId={workspace.id} />
      )}
    </>
  );
}
