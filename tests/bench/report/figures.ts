import type { Measurement } from "../measure/measure.ts";
import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import type { SubjectName } from "../subjects.ts";

/** One subject at one number of connections. */
export interface Case {
  readonly subject: SubjectName;
  readonly connections: number;
}

type Quantity = Exclude<keyof Measurement, "subject" | "connections">;

/** The median over all rounds; undefined where it was not measured. */
export function medianOf(rounds: readonly Round[], quantity: Quantity, of: Case): number | undefined {
  const values = valuesOf(rounds, quantity, of);
  return values.length === 0 ? undefined : median(values);
}

/**
 * How many times as many requests a second as another, in each round that has both: by their shares of bare Koa's, which
 * was measured beside each.
 */
export function throughputRatios(rounds: readonly Round[], of: Case, to: Case): number[] {
  const ratios: number[] = [];
  for (const round of rounds) {
    const [ours, theirs] = [of, to].map((side) => valueIn(round, "koaShare", side));
    if (ours !== undefined && theirs !== undefined) ratios.push(ours / theirs);
  }
  return ratios;
}

/** A value of each round that has it. */
export function valuesOf(rounds: readonly Round[], quantity: Quantity, of: Case): number[] {
  return rounds.map((round) => valueIn(round, quantity, of)).filter((value) => value !== undefined);
}

function valueIn(round: Round, quantity: Quantity, of: Case): number | undefined {
  return round.measurements.find(
    ({ subject, connections }) => subject === of.subject && connections === of.connections,
  )?.[quantity];
}
