import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../support/product.ts";
import { type BenchCluster, startBenchCluster } from "./database/bench-cluster.ts";
import { type MemoryFigures, measureMemory } from "./measure/memory.ts";
import { type Benchmark, type BenchOptions, readOptions } from "./options.ts";
import { describeMachine } from "./report/machine.ts";
import type { BenchResults } from "./report/sections.ts";
import { describeMeasurement } from "./report/tables.ts";
import { type Round, runRounds } from "./rounds.ts";
import type { Progress, Subject } from "./subject.ts";

/** The parts of a benchmark that differ. */
export interface BenchmarkParts extends Benchmark {
  /** Prepares the data of these subjects. */
  readonly prepare: (
    cluster: BenchCluster,
    names: readonly string[],
    progress: Progress,
  ) => Promise<readonly Subject[]>;
  /** The name of the subject whose memory is measured. */
  readonly memorySubject: string | undefined;
  /** The document that a run writes, below docs. */
  readonly document: string;
  readonly compose: (results: BenchResults) => string | Promise<string>;
}

/** Runs a benchmark with the options of the command line, and writes its document. */
export async function runBenchmark(parts: BenchmarkParts): Promise<void> {
  // The first signal ends the run, stops every process that it started and deletes its data.
  const interruption = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => interruption.abort(new Error(`Ended by ${name}.`)));
  }
  const say = (line: string): void => console.info(line);
  try {
    const options = readOptions(process.argv.slice(2), parts);
    if (typeof options === "string") return say(options);
    const report = await parts.compose(
      await measureAll(parts, options, { say, signal: interruption.signal }),
    );
    if (options.isWritten) await writeFile(join(projectRoot, "docs", parts.document), report);
    say(`\n${report}`);
  } catch (thrown) {
    const error: unknown = interruption.signal.aborted ? interruption.signal.reason : thrown;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function measureAll(
  parts: BenchmarkParts,
  options: BenchOptions,
  progress: Progress,
): Promise<BenchResults> {
  const startedAt = performance.now();
  await using stack = new AsyncDisposableStack();
  const cluster = await startBenchCluster();
  stack.defer(cluster.close);
  const { settings } = cluster;
  const { say, signal } = progress;
  say(
    `Postgres: ${Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}`)
      .join(", ")}`,
  );
  const subjects = await parts.prepare(cluster, options.subjects, progress);
  await cluster.admin.query("checkpoint");
  const onMeasurement = (measurement: Round["measurements"][number]): void =>
    say(describeMeasurement(measurement));
  const rounds = await runRounds(cluster, subjects, { ...options, signal, onMeasurement });
  const measured = subjects.find(({ name }) => name === parts.memorySubject);
  const memory: MemoryFigures | undefined =
    measured && options.memoryRequests > 0
      ? await measureMemory(measured, options.memoryRequests, signal)
      : undefined;
  const machine = await describeMachine(cluster);
  const minutes = (performance.now() - startedAt) / 60_000;
  return { options, machine, settings, rounds, memory, minutes, date: new Date() };
}
