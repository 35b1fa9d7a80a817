import { Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ExportUsageButton } from "../../server/export-usage-button.tsx";
import type { OverviewVerifications, SessionWorkspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { Section } from "../../ui/section.tsx";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { type UsageRange, usageRanges } from "../../ui/usage-ranges.ts";
import { IssuedKeyLists } from "./issued-key-lists.tsx";
import classes from "./overview.module.css";

interface VerificationsProps {
  readonly workspace: SessionWorkspace;
  readonly range: UsageRange;
  readonly now: Date;
  readonly query: UseQueryResult<OverviewVerifications | null, unknown>;
}

/** The verifications of all keyspaces of a workspace, and the issued keys that are busy or need attention. */
export function Verifications(props: VerificationsProps): ReactElement {
  const { workspace, range, now, query } = props;
  const failure = useLoadingFailure(query);
  const { data, isPlaceholderData } = query;
  const { label } = usageRanges[range];
  return (
    <>
      <Section
        title={`Verifications in the last ${label}`}
        isWide
        action={
          <div className={classes.actions}>
            <Link className={classes.more} to="/w/$slug/keyspaces" params={{ slug: workspace.slug }}>
              View all keyspaces
            </Link>
            <ExportUsageButton workspace={workspace} keyspace={null} range={range} />
          </div>
        }
      >
        {failure ? (
          <FailurePanel
            title="Couldn’t load verifications"
            message={failure.message}
            requestId={failure.requestId}
            isRetrying={query.isFetching}
            onRetry={() => void query.refetch()}
          />
        ) : (
          <div className={classes.box} aria-busy={!data || isPlaceholderData}>
            {data && !isPlaceholderData ? (
              <UsageChart rows={data.usage} range={range} now={now} noun="verifications" />
            ) : (
              <Skeleton h={254} />
            )}
          </div>
        )}
      </Section>
      {data && (
        <div aria-busy={isPlaceholderData}>
          <IssuedKeyLists issuedKeys={data} range={range} slug={workspace.slug} />
        </div>
      )}
    </>
  );
}
