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
  const values = rounds.map((round) => valueIn(round, quantity, of)).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : median(values);
}

/** What `compare` makes of the values of two cases in the same round, a figure for each round that has both. */
export function comparePairs(
  rounds: readonly Round[],
  pair: {
    readonly quantity: Quantity;
    readonly of: Case;
    readonly to: Case;
    readonly compare: (of: number, to: number) => number;
  },
): number[] {
  const values: number[] = [];
  for (const round of rounds) {
    const [of, to] = [pair.of, pair.to].map((side) => valueIn(round, pair.quantity, side));
    if (of !== undefined && to !== undefined) values.push(pair.compare(of, to));
  }
  return values;
}

/** How many times as many requests a second as another, in each round that has both. */
export function throughputRatios(rounds: readonly Round[], of: Case, to: Case): number[] {
  return comparePairs(rounds, { quantity: "requestsPerSecond", of, to, compare: (a, b) => a / b });
}

function valueIn(round: Round, quantity: Quantity, of: Case): number | undefined {
  return round.measurements.find(
    ({ subject, connections }) => subject === of.subject && connections === of.connections,
  )?.[quantity];
}
