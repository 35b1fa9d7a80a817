import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ReactElement, useId } from "react";
import { formatCount } from "./count.ts";
import { type OutcomeBar, OutcomeChart, OutcomeLegend, outcomes } from "./outcome-chart.tsx";
import { outcomeTitle } from "./outcome-titles.ts";
import tableClasses from "./table.module.css";
import { TimeZone } from "./time-zone.tsx";
import { countRejections, toBars, type UsageRow } from "./usage-buckets.ts";
import classes from "./usage-chart.module.css";
import type { UsageRange } from "./usage-ranges.ts";

interface UsageChartProps {
  readonly rows: readonly UsageRow[];
  readonly range: UsageRange;
  readonly now: Date;
  /** What was counted, in the plural; "requests" by default. */
  readonly noun?: "requests" | "verifications";
  /** Whether the reasons of what was rejected are listed; true by default. */
  readonly hasReasons?: boolean;
}

/**
 * Requests or verifications over time by outcome, as a chart and optionally as a table, and the reasons of those that were
 * rejected.
 */
export function UsageChart({
  rows,
  range,
  now,
  noun = "requests",
  hasReasons = true,
}: UsageChartProps): ReactElement {
  const [isTableShown, { toggle }] = useDisclosure(false);
  const tableId = useId();
  const bars = toBars(rows, range, now);
  const { label, bucket } = range;
  return (
    <div className={classes.usage}>
      <OutcomeLegend bars={bars} />
      <OutcomeChart
        label={`${capitalize(noun)} in the last ${label} by outcome, ${describeSum(bars)}`}
        bars={bars}
      />
      <div className={classes.foot}>
        <Button variant="default" aria-expanded={isTableShown} aria-controls={tableId} onClick={toggle}>
          {isTableShown ? "Hide the table" : "Show as a table"}
        </Button>
        <TimeZone />
      </div>
      <div id={tableId} hidden={!isTableShown}>
        {isTableShown && <UsageTable bars={bars} bucket={bucket} noun={noun} />}
      </div>
      {hasReasons && <RejectionReasons rows={rows} noun={noun} />}
    </div>
  );
}

function capitalize(noun: string): string {
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

function describeSum(bars: readonly OutcomeBar[]): string {
  return outcomes
    .map(({ name, label }) => `${formatCount(sumOf(bars, name))} ${label.toLowerCase()}`)
    .join(", ");
}

function sumOf(bars: readonly OutcomeBar[], name: (typeof outcomes)[number]["name"]): number {
  return bars.reduce((sum, bar) => sum + bar[name], 0);
}

/** Null if nothing was rejected. */
function RejectionReasons({
  rows,
  noun,
}: Pick<UsageChartProps, "rows"> & { readonly noun: string }): ReactElement | null {
  const reasons = countRejections(rows);
  if (reasons.length === 0) return null;
  return (
    <div>
      <h3 className={classes.subheading}>Rejected {noun} by reason</h3>
      <dl className={classes.reasons}>
        {reasons.map(({ outcome, count }) => (
          <div key={outcome}>
            <dt>{outcomeTitle(outcome)}</dt>
            <dd>{formatCount(count)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

interface UsageTableProps {
  readonly bars: readonly OutcomeBar[];
  readonly bucket: "hour" | "day";
  readonly noun: string;
}

function UsageTable({ bars, bucket, noun }: UsageTableProps): ReactElement {
  const nonEmptyBars = bars.filter((bar) => bar.admitted + bar.limited + bar.rejected > 0).reverse();
  if (nonEmptyBars.length === 0) return <p className={classes.empty}>No {noun} in this period.</p>;
  return (
    <>
      <div className={tableClasses.frame}>
        <table
          className={`${tableClasses.table} ${classes.table}`}
          aria-label={`${capitalize(noun)} by ${bucket}`}
        >
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
            {nonEmptyBars.map((bar) => (
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
      <p className={classes.note}>
        {bucket === "hour" ? "Hours" : "Days"} without {noun} are left out.
      </p>
    </>
  );
}
