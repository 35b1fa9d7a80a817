import type { Settings } from "../database/settings.ts";
import type { MemoryFigures } from "../measure/memory.ts";
import { median } from "../measure/statistics.ts";
import type { BenchOptions } from "../options.ts";
import type { Round } from "../rounds.ts";
import type { Machine } from "./machine.ts";
import { renderTable, tableOf } from "./tables.ts";

/** The results of a run. */
export interface BenchResults {
  readonly options: BenchOptions;
  readonly machine: Machine;
  readonly settings: Settings;
  readonly rounds: readonly Round[];
  readonly memory: MemoryFigures | undefined;
  readonly minutes: number;
  readonly date: Date;
}

/** States the command, the date and how it was measured. */
export function describeRun({ options, minutes, date }: BenchResults): string {
  return `Written by \`${options.command}\` on ${date.toISOString().slice(0, 10)}. The run took ${minutes.toFixed(0)} minutes and \
has ${options.rounds === 1 ? "one round" : `${options.rounds} rounds; the figures are medians of the rounds`}. \
Each measurement has ${options.turns === 1 ? "one turn" : `${options.turns} turns`} of one second. It starts with a \
warm-up of ${options.warmUpSeconds} s, a second that is not counted precedes each turn, and turns alternate with turns of \
bare Koa.`;
}

/** The section on one number of connections. */
export function sectionOf(
  rounds: readonly Round[],
  titles: Readonly<Record<string, string>>,
  connections: number,
): string {
  const title = connections === 1 ? "One connection" : `${connections} connections`;
  return `## ${title}\n\n${tableOf(rounds, titles, connections)}`;
}

export const explanationOfTables = `"Node", "Postgres" and "generator" are processor times in microseconds per request, user and system: of the server's Node
process, of all Postgres processes together, and of the load generator. "WAL bytes" is the size of the write-ahead log per
request, between checkpoints. "Requests per flush" is the number of responses per flush of that log, over the whole life of
the server.`;

/** The section on the machine, the versions and the settings. */
export function describeSetup({ machine, settings, rounds }: BenchResults): string {
  const lost = rounds.flatMap(({ measurements }) => measurements.map(({ lostShare }) => lostShare * 100));
  const listOf = (pairs: readonly (readonly [string, string])[]): string =>
    renderTable(["", ""], pairs, () => true);
  return `## Machine, versions, settings

${listOf([...machine.hardware, ...machine.versions])}

During the measurements, other programs, and other machines on the same hardware, took ${median(lost).toFixed(1)}% of the \
processor time (median; ${Math.max(...lost).toFixed(1)}% in the worst measurement).

These settings were read from the running Postgres. They are the settings of Latchkey's embedded Postgres:

${listOf(Object.entries(settings))}`;
}
