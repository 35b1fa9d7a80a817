import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { ExportUsageButton } from "../../server/export-usage-button.tsx";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { UsageRangePicker } from "../../server/usage-range-picker.tsx";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useUsageRange } from "../../server/use-usage-range.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { Section } from "../../ui/section.tsx";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { useNow } from "../../ui/use-now.ts";
import { BusiestLists } from "./busiest-lists.tsx";
import { KeyspaceFrame } from "./keyspace-frame.tsx";
import { KeyspaceHeader } from "./keyspace-header.tsx";
import classes from "./keyspaces.module.css";
import { OutcomeTable } from "./outcome-table.tsx";
import { useBusiest, useKeyspaceUsage } from "./use-keyspace-usage.ts";
import { verifyCommand } from "./verify-command.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/usage");

/** The verifications of a keyspace: by outcome over time, and by key, consumer and tag. */
export function KeyspaceUsagePage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { keyspaceId } = route.useParams();
  return (
    <KeyspaceFrame key={keyspaceId} workspace={workspace} keyspaceId={keyspaceId}>
      {(keyspace) => <Usage workspace={workspace} keyspace={keyspace} />}
    </KeyspaceFrame>
  );
}

interface UsageProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
}

function Usage({ workspace, keyspace }: UsageProps): ReactElement {
  const range = useUsageRange(route.useSearch());
  const navigate = route.useNavigate();
  const now = useNow();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const usage = useKeyspaceUsage(path, range, now);
  const busiest = useBusiest(path, range, now);
  const usageFailure = useLoadingFailure(usage);
  const busiestFailure = useLoadingFailure(busiest);
  return (
    <>
      <KeyspaceHeader
        workspace={workspace}
        keyspace={keyspace}
        page="Usage"
        explanation="How often the keys of this keyspace were verified, by outcome, key, consumer and tag."
        action={<ExportUsageButton workspace={workspace} keyspace={keyspace} range={range} />}
      />
      <ChartSection
        title="Verifications"
        isWide
        action={
          <UsageRangePicker
            range={range}
            onChoose={(search) => void navigate({ search, replace: true, resetScroll: false })}
          />
        }
        query={usage}
        failureTitle="Couldn’t load verifications"
      >
        {(rows) =>
          rows.length === 0 ? (
            <NoVerifications label={range.label} prefix={keyspace.prefix} />
          ) : (
            <UsageChart rows={rows} range={range} now={now} noun="verifications" hasReasons={false} />
          )
        }
      </ChartSection>
      {!usageFailure && <OutcomeTable rows={usage.isPlaceholderData ? undefined : usage.data} />}
      {busiestFailure ? (
        <Section title="Busiest keys and consumers">
          <FailurePanel
            title="Couldn’t load the busiest keys and consumers"
            message={busiestFailure.message}
            requestId={busiestFailure.requestId}
            isRetrying={busiest.isFetching}
            onRetry={() => void busiest.refetch()}
          />
        </Section>
      ) : (
        <BusiestLists
          busiest={busiest.isPlaceholderData ? undefined : busiest.data}
          slug={workspace.slug}
          keyspaceId={keyspace.id}
          label={range.label}
        />
      )}
    </>
  );
}

/** As high as the chart, which replaces it. */
function NoVerifications({
  label,
  prefix,
}: {
  readonly label: string;
  readonly prefix: string;
}): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const placeholder = `${prefix}_…`;
  return (
    <div className={classes.noVerifications}>
      <p>
        No key was verified in the last {label}. Your services verify the key of each request that they
        receive. Run this command, and the verification appears here within seconds. Replace{" "}
        <code>$API_KEY</code> with an API key, and <code>{placeholder}</code> with an issued key:
      </p>
      <CodeLine code={verifyCommand(instance.baseUrl, placeholder)} copyLabel="Copy command" />
    </div>
  );
}
