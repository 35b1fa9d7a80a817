import type { ReactElement } from "react";
import { SegmentedControl } from "./segmented-control.tsx";
import { type UsageRange, type UsageRangeSearch, usageRangeNames, usageRanges } from "./usage-ranges.ts";

const options = usageRangeNames.map((value) => ({ value, label: usageRanges[value].label }));

interface UsageRangePickerProps {
  readonly range: UsageRange;
  /** Receives the query parameters for the chosen range. */
  readonly onChoose: (search: UsageRangeSearch) => void;
}

/** A control to choose the period of a chart. */
export function UsageRangePicker({ range, onChoose }: UsageRangePickerProps): ReactElement {
  return (
    <SegmentedControl
      label="Period"
      options={options}
      value={range}
      onChoose={(next) => onChoose(next === "24h" ? {} : { range: next })}
    />
  );
}
