import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { UsageRangePicker } from "../../server/usage-range-picker.tsx";
import sectionClasses from "../../ui/section.module.css";
import { UsageChart } from "../../ui/usage-chart.tsx";
import type { UsageRangeSearch } from "../../ui/usage-range-search.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import { useNow } from "../../ui/use-now.ts";
import { useConsumerUsage } from "./use-consumer-usage.ts";
import type { ConsumerPath } from "./use-keyspaces.ts";

interface ConsumerUsageProps {
  readonly path: ConsumerPath;
  readonly range: UsageRange;
  /** Whether no verification was ever valid. */
  readonly isUnused: boolean;
  readonly onChooseRange: (search: UsageRangeSearch) => void;
}

/** The outcomes of the verifications of a consumer's keys, by hour or by day. */
export function ConsumerUsage({ path, range, isUnused, onChooseRange }: ConsumerUsageProps): ReactElement {
  const now = useNow();
  return (
    <ChartSection
      title="Usage"
      action={<UsageRangePicker range={range} onChoose={onChooseRange} />}
      query={useConsumerUsage(path, range, now)}
      failureTitle="Couldn’t load usage"
    >
      {(rows) =>
        rows.length === 0 && isUnused ? (
          <p className={sectionClasses.words}>
            No verifications in the last {range.label}. When your service verifies a key of this consumer, the
            verification appears here within seconds.
          </p>
        ) : (
          <UsageChart rows={rows} range={range} now={now} noun="verifications" />
        )
      }
    </ChartSection>
  );
}
