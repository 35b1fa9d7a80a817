import type { ReactElement } from "react";
import { SegmentedControl } from "../ui/segmented-control.tsx";
import type { UsageRangeSearch } from "../ui/usage-range-search.ts";
import type { UsageRange } from "../ui/usage-ranges.ts";
import { useUsageRanges } from "./use-usage-range.ts";

interface UsageRangePickerProps {
  readonly range: UsageRange;
  /** Receives the query parameters for the chosen range. */
  readonly onChoose: (search: UsageRangeSearch) => void;
}

/** A control to choose the period of a chart. */
export function UsageRangePicker({ range, onChoose }: UsageRangePickerProps): ReactElement {
  const options = useUsageRanges().map(({ name, label }) => ({ value: name, label }));
  return (
    <SegmentedControl
      label="Period"
      options={options}
      value={range.name}
      onChoose={(next) => onChoose(next === "24h" ? {} : { range: next })}
    />
  );
}
