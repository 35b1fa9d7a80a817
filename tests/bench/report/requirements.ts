import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import type { SubjectName } from "../subjects.ts";
import { throughputRatios, valuesOf } from "./figures.ts";
import { fixed, middleOf, milliseconds, renderTable } from "./tables.ts";

/** Of bare Koa's requests a second, at the same number of connections. */
const shares = [
  { subject: "latchkey:one", connections: 64, required: 0.65, stretch: 0.9 },
  { subject: "latchkey:many", connections: 64, required: 0.45, stretch: 0.7 },
  { subject: "latchkey:one", connections: 256, required: 0.8, stretch: 0.9 },
  { subject: "latchkey:many", connections: 256, required: 0.6, stretch: 0.7 },
] as const;

/** Requests a second, at 64 connections. */
const timesBetterAuth = 25;
/** Of the requests a second with the same 20,000 keys alone. */
const dearestMillion = 0.15;
/** At one connection, beside one flush. */
const dearestAddedMicroseconds = 1_000;

/** Of the requests a second of the same number of keys that are held to nothing. */
const dearestBounds = 0.1;
const bounded = [
  { of: "latchkey:one-limited", to: "latchkey:one", what: "1 key with a limit" },
  { of: "latchkey:many-limited", to: "latchkey:many", what: "20,000 keys with a limit each" },
  { of: "latchkey:many-narrowed", to: "latchkey:many", what: "20,000 narrowed keys" },
] as const;

const keys = { "latchkey:one": "1 key", "latchkey:many": "20,000 keys" } as const;
type Kind = keyof typeof keys;

/** The required figures as a table. */
export function tableOfRequirements(rounds: readonly Round[]): string {
  const rows = [
    ...shares.map((share) => rowOfShare(rounds, share)),
    rowOfBetterAuth(rounds, "latchkey:one", "better-auth:one"),
    rowOfBetterAuth(rounds, "latchkey:many", "better-auth:many"),
    rowOfMillion(rounds, 64),
    rowOfMillion(rounds, 256),
    ...bounded.flatMap((pair) => [rowOfBounds(rounds, pair, 64), rowOfBounds(rounds, pair, 256)]),
    rowOfAdded(rounds, "latchkey:one"),
    rowOfAdded(rounds, "latchkey:many"),
  ];
  return renderTable(["what", "required", "stretch", "measured", "holds"], rows, () => true);
}

function rowOfShare(rounds: readonly Round[], share: (typeof shares)[number]): string[] {
  const { subject, connections, required, stretch } = share;
  const ratios = valuesOf(rounds, "koaShare", { subject, connections });
  const what = `${keys[subject]}, ${connections} connections: share of bare Koa's requests/s`;
  const holds = answerOf(
    ratios,
    (value) => value >= required,
    (value) => value >= stretch,
  );
  return [what, `≥ ${required}`, `≥ ${stretch}`, spread(ratios, (ratio) => fixed(ratio, 2)), holds];
}

function rowOfBetterAuth(rounds: readonly Round[], subject: Kind, peer: SubjectName): string[] {
  const connections = 64;
  const ratios = throughputRatios(rounds, { subject, connections }, { subject: peer, connections });
  const what = `${keys[subject]}, 64 connections: times better-auth's requests/s`;
  const holds = answerOf(ratios, (value) => value >= timesBetterAuth);
  return [what, `≥ ${timesBetterAuth}`, "–", spread(ratios, (ratio) => fixed(ratio, 1)), holds];
}

function rowOfMillion(rounds: readonly Round[], connections: number): string[] {
  const what = `1,000,000 stored keys, ${connections} connections: cost against 20,000`;
  const pair = { of: "latchkey:million", to: "latchkey:many" } as const;
  return rowOfCost(rounds, { ...pair, what, connections, dearest: dearestMillion });
}

function rowOfBounds(
  rounds: readonly Round[],
  pair: (typeof bounded)[number],
  connections: number,
): string[] {
  const what = `${pair.what}, ${connections} connections: cost against such without`;
  return rowOfCost(rounds, { ...pair, what, connections, dearest: dearestBounds });
}

interface Cost {
  readonly what: string;
  readonly of: SubjectName;
  readonly to: SubjectName;
  readonly connections: number;
  /** The greatest share of the requests a second. */
  readonly dearest: number;
}

function rowOfCost(rounds: readonly Round[], { what, of, to, connections, dearest }: Cost): string[] {
  const ratios = throughputRatios(rounds, { subject: of, connections }, { subject: to, connections });
  const costs = ratios.map((ratio) => 1 - ratio);
  const measured = spread(costs, (cost) => `${(cost * 100).toFixed(1)} %`);
  return [what, `< ${dearest * 100} %`, "–", measured, answerOf(costs, (value) => value < dearest)];
}

function rowOfAdded(rounds: readonly Round[], subject: Kind): string[] {
  const added = valuesOf(rounds, "addedMicroseconds", { subject, connections: 1 });
  const bound = dearestAddedMicroseconds + median(rounds.map(({ flushMicroseconds }) => flushMicroseconds));
  const what = `${keys[subject]}, 1 connection: p50 added to bare Koa's`;
  const required = `< 1 ms + one flush = ${milliseconds(bound)} ms`;
  const measured = spread(added, (microseconds) => `${milliseconds(microseconds)} ms`);
  return [what, required, "–", measured, answerOf(added, (value) => value < bound)];
}

/** The median, and between what the rounds were. */
function spread(values: readonly number[], write: (value: number) => string): string {
  if (values.length === 0) return "–";
  const middle = write(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${write(Math.min(...values))} to ${write(Math.max(...values))})`;
}

/** What the median says; open when the rounds lie on both sides of the bound that it says it of. */
function answerOf(
  values: readonly number[],
  isEnough: (value: number) => boolean,
  isStretch: (value: number) => boolean = () => false,
): string {
  const middle = middleOf(values);
  if (middle === undefined) return "not measured";
  const verdict = isStretch(middle) ? "yes, the stretch too" : isEnough(middle) ? "yes" : "no";
  const holds = isStretch(middle) ? isStretch : isEnough;
  const isOpen = values.some(holds) && !values.every(holds);
  return isOpen ? `${verdict} (open)` : verdict;
}
