import type { ReactElement } from "react";
import { Segments } from "./segments.tsx";
import { type UsageRange, type UsageRangeSearch, usageRangeNames, usageRanges } from "./usage-ranges.ts";

const options = usageRangeNames.map((value) => ({ value, label: usageRanges[value].label }));

interface UsageRangePickerProps {
  readonly range: UsageRange;
  /** Gets the search part of the URL for the chosen range. */
  readonly onChoose: (search: UsageRangeSearch) => void;
}

/** Chooses the period of a chart. */
export function UsageRangePicker({ range, onChoose }: UsageRangePickerProps): ReactElement {
  return (
    <Segments
      label="Period"
      options={options}
      value={range}
      onChoose={(next) => onChoose(next === "24h" ? {} : { range: next })}
    />
  );
}
