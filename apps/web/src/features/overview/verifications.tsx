import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { ExportUsageButton } from "../../server/export-usage-button.tsx";
import type { OverviewVerifications, SessionWorkspace } from "../../server/trpc.ts";
import { UsageChart } from "../../ui/usage-chart.tsx";
import type { UsageRange } from "../../ui/usage-ranges.ts";
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
  const { data, isPlaceholderData } = query;
  const { label } = range;
  return (
    <>
      <ChartSection
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
        query={query}
        failureTitle="Couldn’t load verifications"
      >
        {({ usage }) => <UsageChart rows={usage} range={range} now={now} noun="verifications" />}
      </ChartSection>
      {data && (
        <IssuedKeyLists
          issuedKeys={data}
          isOtherRange={isPlaceholderData}
          range={range}
          slug={workspace.slug}
        />
      )}
    </>
  );
}
