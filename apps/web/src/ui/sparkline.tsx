import type { ReactElement } from "react";

interface SparklineProps {
  /** The accessible name, with a summary of the data, such as "12 verifications in 30 days". */
  readonly label: string;
  /** One value per bar, oldest first. */
  readonly values: readonly number[];
}

const barWidth = 2;
const step = 3;
const height = 20;
/** Keeps a small value visible next to a large one. */
const minBarHeight = 2;

/** A bar chart as high as a line of text, with one path, because a table has many of them. */
export function Sparkline({ label, values }: SparklineProps): ReactElement {
  const top = Math.max(1, ...values);
  const bars = values.map((value, place) => {
    if (value === 0) return "";
    const barHeight = Math.max(minBarHeight, Math.round((value / top) * height * 10) / 10);
    return `M${place * step} ${height}v${-barHeight}h${barWidth}v${barHeight}z`;
  });
  const width = values.length * step - (step - barWidth);
  return (
    <svg
      display="block"
      role="img"
      aria-label={label}
      width={width}
      height={height + 1}
      viewBox={`0 0 ${width} ${height + 1}`}
    >
      <title>{label}</title>
      <path fill="var(--lk-border)" d={`M0 ${height}h${width}v1h${-width}z`} />
      <path fill="var(--lk-dimmed)" d={bars.join("")} />
    </svg>
  );
}
