import type { Settings } from "../ground/settings.ts";
import type { MemoryFigures } from "../measure/memory.ts";
import { median } from "../measure/statistics.ts";
import type { BenchOptions } from "../options.ts";
import type { Round } from "../rounds.ts";
import { betterAuthPoolSize } from "../servers/better-auth-options.ts";
import type { Machine } from "./machine.ts";
import { tableOfRequirements } from "./requirements.ts";
import { milliseconds, renderTable, tableOf } from "./tables.ts";

/** Everything a run has found out. */
export interface Findings {
  readonly options: BenchOptions;
  readonly machine: Machine;
  readonly settings: Settings;
  readonly rounds: readonly Round[];
  readonly memory: MemoryFigures | undefined;
  readonly minutes: number;
  readonly date: Date;
}

/** docs/benchmarks.md. */
export function composeReport(findings: Findings): string {
  const { options, machine, settings, rounds, memory, minutes, date } = findings;
  const flush = median(rounds.map(({ flushMicroseconds }) => flushMicroseconds));
  const lost = rounds.flatMap(({ measurements }) => measurements.map(({ lostShare }) => lostShare * 100));
  const listOf = (pairs: readonly (readonly [string, string])[]): string =>
    renderTable(["", ""], pairs, () => true);
  return `# Benchmarks

Written by \`${options.command}\` on ${date.toISOString().slice(0, 10)}, in ${minutes.toFixed(0)} minutes: \
${options.rounds === 1 ? "one round" : `${options.rounds} rounds, medians`}, each measurement ${options.turns === 1 ? "a turn" : `${options.turns} turns`} of \
a second, after one that is not counted, after ${options.warmUpSeconds} s of the same load, in turns with bare Koa. What is measured is \
\`GET /open/global/config\`, admitted and counted: each use is committed to disk before its answer is sent.

## What is required

${tableOfRequirements(rounds)}

A share of bare Koa is that of a turn to what bare Koa did before and after it; other ratios are those of two such \
shares within a round. Medians are of the ratios. What holds is what the median says; it is open where \
rounds lie on both sides of the bound. One flush is ${milliseconds(flush)} ms here; on another disk it may cost many \
times as much, and what waits for it with it.

${options.connections.map((connections) => sectionOf(rounds, connections)).join("\n\n")}

Processor times are microseconds a request, user and system: of the server's node process, of all Postgres
processes together, and of the load generator. WAL bytes are a request's share of the write-ahead log between
checkpoints. Requests a flush are the answers that one flush of that log stood for, over the server's whole life: with
20,000 keys that begins with their first uses, over 64 connections.

## Memory

${memory ? describeMemory(memory) : "Not measured in this run."}

## Machine, versions, settings

${listOf([...machine.hardware, ...machine.versions])}

Other programs, and other machines on the same hardware, took ${median(lost).toFixed(1)} % of the processors while it \
was measured (the median; ${Math.max(...lost).toFixed(1)} % in the worst measurement).

Read back from the running Postgres, whose settings are those that the product gives its embedded one:

${listOf(Object.entries(settings))}

${method}`;
}

function sectionOf(rounds: readonly Round[], connections: number): string {
  const title = connections === 1 ? "One connection" : `${connections} connections`;
  return `## ${title}\n\n${tableOf(rounds, connections)}`;
}

function describeMemory({ requests, idle, after }: MemoryFigures): string {
  const mib = (bytes: number | undefined): string =>
    bytes === undefined ? "–" : `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const rows = [
    ["resident, started and idle", mib(idle.residentBytes)],
    [`resident, after ${requests.toLocaleString("en")} requests with 20,000 keys`, mib(after.residentBytes)],
    ["resident, at most", mib(after.peakResidentBytes)],
    ["heap in use after a full garbage collection", mib(after.heapBytes)],
  ];
  return `A node of the product, 64 connections.\n\n${renderTable(["", ""], rows)}`;
}

const method = `## How it was measured

- Every measurement has a fresh server, started as the product is (\`node apps/api/src/main.ts\`, no flags, the same
  environment for all). The order of everything turns round each round.
- The load is wrk's, with one thread and without pipelining, its requests built beforehand. Generator, server and
  Postgres share the cores, so that what the generator takes is missing elsewhere, most where a server and its database
  keep both cores busy: by one that takes more, the product's share of bare Koa is smaller
  ([decision 16](decisions/0016-the-load-is-made-by-wrk.md)).
- A machine whose processors others use too goes twice as fast in one second as in another. So each turn of a server
  stands between two of a bare Koa that was started and warmed up with it. Before each turn there is a second of the same
  load that is not counted, so that nobody's turn begins with what another has left. What the tables tell of bare Koa is
  another process, measured like all the others: how far from 1.00 its share of bare Koa is tells how far to trust the
  rest.
- There is one embedded Postgres, opened by the product's own code, with a database for each case. The product
  reaches it over its Unix socket. The cluster is checkpointed before each measurement, so that none happens within.
- With more keys than one, they are sent in turn over whichever connection is free; so a key is hardly ever under way
  twice, and hardly any batch can add up two uses of one key. Each key is used before the warm-up: what is measured is a
  node that has met its keys. In the stock of 1,000,000 the 20,000 lie at random places.
- Bare Koa and \`node:http\` answer a body and headers recorded from the product; Koa serialises the body for each
  answer, \`node:http\` sends a string made beforehand. That they answer the same is checked before each measurement.
- better-auth runs its API-key plugin on the same Postgres, in a database made by its own migrator: keys hashed,
  uses counted in the row before the answer (its rate limit, set so high that nobody meets it), nothing deferred and
  nothing cached, a pool of ${betterAuthPoolSize} connections, its limit per address and its log off, and its check
  called directly in a bare Koa, without its own router. Too slow to use 20,000 keys once before the warm-up, and
  remembering nothing, it does without that; so its write-ahead log holds page images too.
- Latencies are wrk's own, from writing a request to the end of its answer. For one that took more than twice the mean,
  wrk adds those that would have been sent meanwhile. They are those of clients that send the next request as soon as
  they have an answer.
- Processor times are counted by Linux in hundredths of a second, over 0.6 s of each turn.
- One flush is the median of writing 8 kB into a file of fixed size beside the cluster and calling fdatasync.
- A run fails when any answer has a status of 400 or more, or a connection breaks; when after a measurement not (answered ≤ counted ≤ sent); and when the
  log was flushed less often than would make each count durable before its answer: a flush can stand for one answer a
  connection at most.

Not measured: other machines on the network, TLS, several nodes on one Postgres, a Postgres with a replica to wait
for, the first use of a key on a node (two statements), and what the first write to each page after a checkpoint adds
to the write-ahead log (a page image of up to 8 kB).
`;
