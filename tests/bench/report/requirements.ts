import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import type { SubjectName } from "../subjects.ts";
import { throughputRatios, valuesOf } from "./figures.ts";
import { rowOfMultiple, rowOfShare, spread, verdictOf } from "./requirement-rows.ts";
import { milliseconds, renderTable } from "./tables.ts";

/** Shares of bare Koa's requests per second, at the same number of connections. */
const shares = [
  { subject: "latchkey:one", connections: 64, required: 0.65, stretch: 0.9 },
  { subject: "latchkey:many", connections: 64, required: 0.45, stretch: 0.7 },
  { subject: "latchkey:one", connections: 256, required: 0.8, stretch: 0.9 },
  { subject: "latchkey:many", connections: 256, required: 0.6, stretch: 0.7 },
] as const;

/** The required multiple of better-auth's requests per second, at 64 connections. */
const betterAuthMultiple = 25;
/** The maximum loss compared with 20,000 stored keys, as a share of the requests per second. */
const maxMillionLoss = 0.15;
/** At one connection, in addition to one flush. */
const maxAddedMicroseconds = 1_000;

/** The maximum loss compared with the same number of unrestricted keys, as a share of the requests per second. */
const maxRestrictionsLoss = 0.1;
const restrictedPairs = [
  { of: "latchkey:one-limited", to: "latchkey:one", what: "1 key with a rate limit" },
  { of: "latchkey:many-limited", to: "latchkey:many", what: "20,000 keys with a rate limit each" },
  { of: "latchkey:many-restricted", to: "latchkey:many", what: "20,000 restricted keys" },
] as const;

const keys = { "latchkey:one": "1 key", "latchkey:many": "20,000 keys" } as const;
type Kind = keyof typeof keys;

/** The required figures as a table. */
export function tableOfRequirements(rounds: readonly Round[]): string {
  const rows = [
    ...shares.map((share) => rowOfShare(rounds, { ...share, what: keys[share.subject] })),
    rowOfBetterAuth(rounds, "latchkey:one", "better-auth:one"),
    rowOfBetterAuth(rounds, "latchkey:many", "better-auth:many"),
    rowOfMillion(rounds, 64),
    rowOfMillion(rounds, 256),
    ...restrictedPairs.flatMap((pair) => [
      rowOfRestrictions(rounds, pair, 64),
      rowOfRestrictions(rounds, pair, 256),
    ]),
    rowOfAdded(rounds, "latchkey:one"),
    rowOfAdded(rounds, "latchkey:many"),
  ];
  return renderTable(["measure", "required", "stretch goal", "measured", "met"], rows, () => true);
}

function rowOfBetterAuth(rounds: readonly Round[], subject: Kind, to: SubjectName): string[] {
  const toWhat = "better-auth's requests/s";
  const of = { subject, what: keys[subject], connections: 64 };
  return rowOfMultiple(rounds, { ...of, to, toWhat, required: betterAuthMultiple });
}

function rowOfMillion(rounds: readonly Round[], connections: number): string[] {
  const what = `1,000,000 stored keys, ${connections} connections: cost compared with 20,000`;
  const pair = { of: "latchkey:million", to: "latchkey:many" } as const;
  return rowOfCost(rounds, { ...pair, what, connections, maxLoss: maxMillionLoss });
}

function rowOfRestrictions(
  rounds: readonly Round[],
  pair: (typeof restrictedPairs)[number],
  connections: number,
): string[] {
  const what = `${pair.what}, ${connections} connections: cost compared with unrestricted keys`;
  return rowOfCost(rounds, { ...pair, what, connections, maxLoss: maxRestrictionsLoss });
}

interface Cost {
  readonly what: string;
  readonly of: SubjectName;
  readonly to: SubjectName;
  readonly connections: number;
  /** The maximum loss, as a share of the requests per second. */
  readonly maxLoss: number;
}

function rowOfCost(rounds: readonly Round[], { what, of, to, connections, maxLoss }: Cost): string[] {
  const ratios = throughputRatios(rounds, { subject: of, connections }, { subject: to, connections });
  const costs = ratios.map((ratio) => 1 - ratio);
  const measured = spread(costs, (cost) => `${(cost * 100).toFixed(1)}%`);
  return [what, `< ${maxLoss * 100}%`, "–", measured, verdictOf(costs, (value) => value < maxLoss)];
}

function rowOfAdded(rounds: readonly Round[], subject: Kind): string[] {
  const added = valuesOf(rounds, "addedMicroseconds", { subject, connections: 1 });
  const bound = maxAddedMicroseconds + median(rounds.map(({ flushMicroseconds }) => flushMicroseconds));
  const what = `${keys[subject]}, 1 connection: p50 added to bare Koa's`;
  const required = `< 1 ms + one flush = ${milliseconds(bound)} ms`;
  const measured = spread(added, (microseconds) => `${milliseconds(microseconds)} ms`);
  return [what, required, "–", measured, verdictOf(added, (value) => value < bound)];
}
