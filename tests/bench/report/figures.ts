import type { Measurement } from "../measure/measure.ts";
import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";

/** One subject at one number of connections. */
export interface Case {
  readonly subject: string;
  readonly connections: number;
}

type Quantity = Exclude<keyof Measurement, "subject" | "connections">;

/** The median over all rounds; undefined if it wasn't measured. */
export function medianOf(rounds: readonly Round[], quantity: Quantity, of: Case): number | undefined {
  const values = valuesOf(rounds, quantity, of);
  return values.length === 0 ? undefined : median(values);
}

/**
 * The ratio of the throughputs of two cases, for each round that has both. It is the ratio of their shares of bare
 * Koa, which is measured together with each case.
 */
export function throughputRatios(rounds: readonly Round[], of: Case, to: Case): number[] {
  const ratios: number[] = [];
  for (const round of rounds) {
    const [numerator, denominator] = [of, to].map((side) => valueIn(round, "koaShare", side));
    if (numerator !== undefined && denominator !== undefined) ratios.push(numerator / denominator);
  }
  return ratios;
}

/** The values of the rounds that have one. */
export function valuesOf(rounds: readonly Round[], quantity: Quantity, of: Case): number[] {
  return rounds.map((round) => valueIn(round, quantity, of)).filter((value) => value !== undefined);
}

function valueIn(round: Round, quantity: Quantity, of: Case): number | undefined {
  return round.measurements.find(
    ({ subject, connections }) => subject === of.subject && connections === of.connections,
  )?.[quantity];
}
