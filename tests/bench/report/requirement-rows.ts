import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import { type Case, throughputRatios, valuesOf } from "./figures.ts";
import { fixed, medianOrUndefined } from "./tables.ts";

/** A case that is compared with something, in words. */
interface Compared extends Case {
  /** The case in words, such as "1 key". */
  readonly what: string;
}

/** A required share of bare Koa's requests per second, at the same number of connections. */
export interface RequiredShare extends Compared {
  readonly required: number;
  readonly stretch: number;
}

/** The row of a required share of bare Koa's throughput. */
export function rowOfShare(rounds: readonly Round[], share: RequiredShare): string[] {
  const { what, connections, required, stretch } = share;
  const ratios = valuesOf(rounds, "koaShare", share);
  const verdict = verdictOf(
    ratios,
    (value) => value >= required,
    (value) => value >= stretch,
  );
  const title = `${what}, ${connections} connections: share of bare Koa's requests/s`;
  return [title, `≥ ${required}`, `≥ ${stretch}`, spread(ratios, (ratio) => fixed(ratio, 2)), verdict];
}

/** A required multiple of another subject's throughput, at the same number of connections. */
export interface RequiredMultiple extends Compared {
  readonly to: string;
  /** The other subject in words, such as "better-auth's requests/s". */
  readonly toWhat: string;
  readonly required: number;
}

/** The row of a required multiple of another subject's throughput. */
export function rowOfMultiple(rounds: readonly Round[], multiple: RequiredMultiple): string[] {
  const { what, connections, to, toWhat, required } = multiple;
  const ratios = throughputRatios(rounds, multiple, { subject: to, connections });
  const title = `${what}, ${connections} connections: multiple of ${toWhat}`;
  const verdict = verdictOf(ratios, (value) => value >= required);
  return [
    title,
    `≥ ${required}`,
    "–",
    spread(ratios, (ratio) => fixed(ratio, required < 1 ? 2 : 1)),
    verdict,
  ];
}

/** The median, and the range of the rounds. */
export function spread(values: readonly number[], write: (value: number) => string): string {
  if (values.length === 0) return "–";
  const middle = write(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${write(Math.min(...values))} to ${write(Math.max(...values))})`;
}

/** Whether the median meets the bound; inconclusive if some rounds meet the same bound and others don't. */
export function verdictOf(
  values: readonly number[],
  isEnough: (value: number) => boolean,
  isStretch: (value: number) => boolean = () => false,
): string {
  const middle = medianOrUndefined(values);
  if (middle === undefined) return "not measured";
  const verdict = isStretch(middle) ? "yes, and the stretch goal" : isEnough(middle) ? "yes" : "no";
  const holds = isStretch(middle) ? isStretch : isEnough;
  const isInconclusive = values.some(holds) && !values.every(holds);
  return isInconclusive ? `${verdict} (inconclusive)` : verdict;
}
