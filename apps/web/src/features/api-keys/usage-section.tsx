import { Button, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useId } from "react";
import { type ApiKey, type KeyUsage, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { formatCount } from "../../ui/count.ts";
import { curlLine } from "../../ui/curl-line.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { type OutcomeBar, OutcomeChart, OutcomeLegend, outcomes } from "../../ui/outcome-chart.tsx";
import { Segments } from "../../ui/segments.tsx";
import tableClasses from "../../ui/table.module.css";
import { useNow } from "../../ui/use-now.ts";
import pageClasses from "./key-page.module.css";
import { outcomeTitle } from "./outcome-titles.ts";
import { Section } from "./section.tsx";
import { countRefusals, toBars, type UsageRange, usageRangeNames, usageRanges } from "./usage.ts";
import classes from "./usage-section.module.css";
import { useKeyUsage } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");
const options = usageRangeNames.map((value) => ({ value, label: usageRanges[value].label }));

/** What became of a key's requests, by hour or by day. */
export function UsageSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const { range = "24h" } = route.useSearch();
  const navigate = route.useNavigate();
  const now = useNow();
  const usage = useKeyUsage(apiKey.id, range, now);
  const failure = useLoadingFailure(usage);
  const choose = (next: UsageRange) =>
    void navigate({ search: next === "24h" ? {} : { range: next }, replace: true, resetScroll: false });
  return (
    <Section
      title="Usage"
      action={<Segments label="Period" options={options} value={range} onChoose={choose} />}
    >
      {failure ? (
        <FailurePanel
          title="Couldn’t load usage"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={usage.isFetching}
          onRetry={() => void usage.refetch()}
        />
      ) : (
        <div className={pageClasses.box} aria-busy={!usage.data || usage.isPlaceholderData}>
          {usage.data && !usage.isPlaceholderData ? (
            <Usage rows={usage.data} range={range} now={now} isUsed={apiKey.lastUsedAt !== null} />
          ) : (
            <Skeleton h={254} />
          )}
        </div>
      )}
    </Section>
  );
}

interface UsageProps {
  readonly rows: readonly KeyUsage[];
  readonly range: UsageRange;
  readonly now: Date;
  /** Whether it was ever used. */
  readonly isUsed: boolean;
}

function Usage({ rows, range, now, isUsed }: UsageProps): ReactElement {
  const [isTableShown, { toggle }] = useDisclosure(false);
  const tableId = useId();
  const bars = toBars(rows, range, now);
  const reasons = countRefusals(rows);
  const { label, bucket } = usageRanges[range];
  if (rows.length === 0 && !isUsed) return <NotUsedYet />;
  return (
    <div className={classes.usage}>
      <OutcomeLegend bars={bars} />
      <OutcomeChart label={`Requests of the last ${label} by outcome, ${describeSum(bars)}`} bars={bars} />
      <div className={classes.foot}>
        <Button variant="default" aria-expanded={isTableShown} aria-controls={tableId} onClick={toggle}>
          {isTableShown ? "Hide the table" : "Show as a table"}
        </Button>
        <span className={classes.zone}>
          {bucket === "day" ? "Days in UTC" : `Hours in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`}
        </span>
      </div>
      <div id={tableId} hidden={!isTableShown}>
        {isTableShown && <UsageTable bars={bars} bucket={bucket} />}
      </div>
      {reasons.length > 0 && (
        <div>
          <h3 className={classes.subheading}>Rejected requests by reason</h3>
          <dl className={classes.reasons}>
            {reasons.map(({ outcome, count }) => (
              <div key={outcome}>
                <dt>{outcomeTitle(outcome)}</dt>
                <dd>{formatCount(count)}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </div>
  );
}

function describeSum(bars: readonly OutcomeBar[]): string {
  return outcomes
    .map(({ name }) => `${formatCount(bars.reduce((sum, bar) => sum + bar[name], 0))} ${name}`)
    .join(", ");
}

function NotUsedYet(): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <>
      <p className={classes.words}>
        No requests with this key yet. Run this command with the key in place of $API_KEY, and the request
        appears here within seconds:
      </p>
      <CodeLine code={curlLine(instance.baseUrl, "$API_KEY")} copyLabel="Copy command" />
    </>
  );
}

interface UsageTableProps {
  readonly bars: readonly OutcomeBar[];
  readonly bucket: "hour" | "day";
}

function UsageTable({ bars, bucket }: UsageTableProps): ReactElement {
  const busy = bars.filter((bar) => bar.admitted + bar.limited + bar.refused > 0).reverse();
  if (busy.length === 0) return <p className={pageClasses.empty}>No requests in this period.</p>;
  return (
    <>
      <div className={tableClasses.frame}>
        <table className={`${tableClasses.table} ${classes.table}`} aria-label={`Requests by ${bucket}`}>
          <thead>
            <tr>
              <th scope="col">{bucket === "hour" ? "Hour" : "Day"}</th>
              {outcomes.map(({ name, label }) => (
                <th key={name} scope="col" className={classes.count}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {busy.map((bar) => (
              <tr key={bar.id}>
                <th scope="row">{bar.title}</th>
                {outcomes.map(({ name }) => (
                  <td key={name} className={classes.count}>
                    {formatCount(bar[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className={classes.note}>{bucket === "hour" ? "An hour" : "A day"} without requests is left out.</p>
    </>
  );
}
