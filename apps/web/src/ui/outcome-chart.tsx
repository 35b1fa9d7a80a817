import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { formatCount } from "./count.ts";
import { niceCeiling } from "./nice-ceiling.ts";
import classes from "./outcome-chart.module.css";

/** The requests of one period, by outcome. */
export interface OutcomeBar {
  /** Identifies the bar across renders. */
  readonly id: string;
  /** The period in full, such as "Mon 2 Mar, 14:00–15:00". */
  readonly title: string;
  /** The period on the axis, such as "14:00". */
  readonly tick: string;
  readonly admitted: number;
  readonly limited: number;
  readonly rejected: number;
}

/** The outcomes, from the bottom to the top of a bar. */
export const outcomes = [
  { name: "admitted", label: "Allowed" },
  { name: "limited", label: "Rate limited" },
  { name: "rejected", label: "Rejected" },
] as const;

interface OutcomeChartProps {
  /** The accessible name, with a summary of the data. */
  readonly label: string;
  readonly bars: readonly OutcomeBar[];
}

/** A stacked bar chart. Hovering over a bar shows its figures. */
export function OutcomeChart({ label, bars }: OutcomeChartProps): ReactElement {
  const top = niceCeiling(Math.max(...bars.map(totalOf)));
  const ticks = bars.length > 1 ? [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)] : bars;
  return (
    <figure className={classes.chart} role="img" aria-label={label}>
      <div className={classes.scale}>
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{formatCount(value)}</span>
        ))}
      </div>
      <div className={classes.bars}>
        {bars.map((bar) => (
          <Tooltip key={bar.id} label={<Figures bar={bar} />} openDelay={0}>
            <div className={classes.slot}>
              {outcomes.map(({ name }) => (
                <div
                  key={name}
                  className={classes.part}
                  data-outcome={name}
                  style={{ height: `${(bar[name] / top) * 100}%` }}
                  hidden={bar[name] === 0}
                />
              ))}
            </div>
          </Tooltip>
        ))}
      </div>
      <div className={classes.ticks}>{ticks.map((bar) => bar && <span key={bar.id}>{bar.tick}</span>)}</div>
    </figure>
  );
}

function Figures({ bar }: { readonly bar: OutcomeBar }): ReactElement {
  return (
    <div className={classes.figures}>
      <strong>{bar.title}</strong>
      {outcomes.map(({ name, label }) => (
        <div key={name} className={classes.figure}>
          <span className={classes.swatch} data-outcome={name} />
          <span>{label}</span>
          <span className={classes.count}>{formatCount(bar[name])}</span>
        </div>
      ))}
    </div>
  );
}

/** The meaning of each color, with the total count. */
export function OutcomeLegend({ bars }: { readonly bars: readonly OutcomeBar[] }): ReactElement {
  return (
    <ul className={classes.legend}>
      {outcomes.map(({ name, label }) => (
        <li key={name}>
          <span className={classes.swatch} data-outcome={name} />
          {label} <strong>{formatCount(bars.reduce((sum, bar) => sum + bar[name], 0))}</strong>
        </li>
      ))}
    </ul>
  );
}

function totalOf({ admitted, limited, rejected }: OutcomeBar): number {
  return admitted + limited + rejected;
}
