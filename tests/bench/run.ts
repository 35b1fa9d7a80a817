import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../support/product.ts";
import { startBenchCluster } from "./database/bench-cluster.ts";
import { measureMemory } from "./measure/memory.ts";
import { type BenchOptions, readOptions, usage } from "./options.ts";
import { describeMachine } from "./report/machine.ts";
import { composeReport } from "./report/report.ts";
import { describeMeasurement } from "./report/tables.ts";
import { runRounds } from "./rounds.ts";
import { prepareSubjects } from "./subjects.ts";

// `pnpm bench`: compares admission with alternatives, and writes docs/benchmarks.md.

const say = (line: string): void => console.info(line);

async function bench(options: BenchOptions, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  await using stack = new AsyncDisposableStack();
  const cluster = await startBenchCluster();
  stack.defer(cluster.close);
  const { settings } = cluster;
  const settingsLine = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  say(`Postgres: ${settingsLine.join(", ")}`);
  const prepared = await prepareSubjects(cluster, options.subjects, { say, signal });
  const onMeasurement = (measurement: Parameters<typeof describeMeasurement>[0]): void =>
    say(describeMeasurement(measurement));
  const rounds = await runRounds(cluster, prepared, { ...options, signal, onMeasurement });
  const many = prepared.subjects.find(({ name }) => name === "latchkey:many");
  const memory =
    many && options.memoryRequests > 0
      ? await measureMemory(many, options.memoryRequests, signal)
      : undefined;
  const machine = await describeMachine(cluster);
  const minutes = (performance.now() - startedAt) / 60_000;
  const report = composeReport({ options, machine, settings, rounds, memory, minutes, date: new Date() });
  if (options.isWritten) {
    const path = join(projectRoot, "docs/benchmarks.md");
    await writeFile(path, report + pagesSectionOf(await readFile(path, "utf8")));
  }
  say(`\n${report}`);
}

/** The last section of docs/benchmarks.md, which `pnpm bench:pages` and `pnpm bench:demo` are the source of. */
function pagesSectionOf(document: string): string {
  const start = document.indexOf("\n## Pages of the web app\n");
  if (start < 0) throw new Error("docs/benchmarks.md has no section on pages.");
  return document.slice(start);
}

/** The first signal ends the run, stops every process that it started and deletes its data. */
const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => interruption.abort(new Error(`Ended by ${name}.`)));
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await bench(options, interruption.signal);
  else say(usage);
} catch (thrown) {
  const error: unknown = interruption.signal.aborted ? interruption.signal.reason : thrown;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
