import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createApiKey } from "@latchkey/auth/key-format";
import { authSecret, startNode } from "../support/product.ts";
import { type BenchCluster, startBenchCluster, urlOf } from "./database/bench-cluster.ts";
import { seedLatchkey } from "./database/seed-latchkey.ts";
import { LoadClients } from "./load/load-clients.ts";
import { readProcessorMicroseconds } from "./measure/processor-time.ts";
import { median, percentile } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:compare`: compares the throughput of checkouts. All of them run at the same time, and the load
// alternates between them every fraction of a second. A machine that slows down for some seconds slows down all of
// them, so that a difference of 5%, which `pnpm bench` can't distinguish from noise, is visible. To measure the
// error, compare a checkout with itself.

const usage = `pnpm bench:compare [options] DIRECTORY...
  DIRECTORY is a checkout with installed dependencies and a built web app. All are compared with the first.
  --connections A,B numbers of connections (64,256)
  --turns N         number of turns per checkout (50)
  --keys N          number of keys (1)
`;

const turnMs = 160;
/** The first part of a turn, which isn't counted. */
const startMs = 40;
const warmUpMs = 5_000;

interface Checkout {
  readonly directory: string;
  readonly baseUrl: string;
  readonly pid: number;
}

/** The result of one turn. */
interface Turn {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The processor time of the server process. */
  readonly nodeMicroseconds: number;
}

interface CompareOptions {
  readonly connections: readonly number[];
  readonly turns: number;
  readonly keys: number;
  /** Ends the comparison and its processes. */
  readonly signal: AbortSignal;
}

async function compare(
  directories: readonly string[],
  { connections, turns, keys, signal }: CompareOptions,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const cluster = await startBenchCluster();
  stack.defer(cluster.close);
  const secrets = Array.from({ length: keys }, () => createApiKey().secret);
  const checkouts: Checkout[] = [];
  for (const [index, directory] of directories.entries()) {
    signal.throwIfAborted();
    const databaseUrl = await prepareDatabase(cluster, `checkout_${index + 1}`, secrets);
    const node = await startNode({ DATABASE_URL: databaseUrl, AUTH_SECRET: authSecret }, { directory });
    stack.defer(async () => {
      await node.stop();
    });
    checkouts.push({ directory, baseUrl: node.baseUrl, pid: node.pid });
  }
  for (const count of connections) {
    const measured = await takeTurns(checkouts, { secrets, connections: count, turns, signal });
    console.info(`\n${count} connections\n\n${describe(checkouts, measured)}`);
  }
}

async function prepareDatabase(
  cluster: BenchCluster,
  name: string,
  secrets: readonly string[],
): Promise<string> {
  const address = await cluster.createDatabase(name);
  await seedLatchkey(address, { secrets, storedKeys: secrets.length });
  return urlOf(address);
}

/** @returns the turns of each checkout. */
async function takeTurns(
  checkouts: readonly Checkout[],
  options: {
    readonly secrets: readonly string[];
    readonly connections: number;
    readonly turns: number;
    readonly signal: AbortSignal;
  },
): Promise<Turn[][]> {
  const { signal } = options;
  using stack = new DisposableStack();
  const runners: { readonly pid: number; readonly clients: LoadClients; readonly measured: Turn[] }[] = [];
  for (const { baseUrl, pid } of checkouts) {
    const clients = await LoadClients.connect(baseUrl, options.secrets, options.connections);
    stack.defer(() => clients.close());
    clients.begin();
    await delay(warmUpMs, undefined, { signal });
    await clients.end();
    runners.push({ pid, clients, measured: [] });
  }
  for (let turn = 0; turn < options.turns; turn += 1) {
    for (const { pid, clients, measured } of turn % 2 === 0 ? runners : runners.toReversed()) {
      clients.begin();
      await delay(startMs, undefined, { signal });
      const from = {
        at: performance.now(),
        answered: clients.answered,
        cpu: await readProcessorMicroseconds(pid),
      };
      await delay(turnMs - startMs, undefined, { signal });
      const requests = clients.answered - from.answered;
      const seconds = (performance.now() - from.at) / 1_000;
      const nodeMicroseconds = (await readProcessorMicroseconds(pid)) - from.cpu;
      await clients.end();
      measured.push({ requests, requestsPerSecond: requests / seconds, nodeMicroseconds });
    }
  }
  return runners.map(({ measured }) => measured);
}

function describe(checkouts: readonly Checkout[], measured: readonly Turn[][]): string {
  const rows = checkouts.map(({ directory }, index) => {
    const turns = measured[index] ?? [];
    const ratios = turns.map(
      ({ requestsPerSecond }, turn) =>
        requestsPerSecond / (measured[0]?.[turn]?.requestsPerSecond ?? Number.NaN),
    );
    return [
      directory,
      Math.round(median(turns.map(({ requestsPerSecond }) => requestsPerSecond))).toLocaleString("en"),
      median(ratios).toFixed(3),
      `${percentile(ratios, 0.25).toFixed(2)} to ${percentile(ratios, 0.75).toFixed(2)}`,
      (
        sum(turns.map(({ nodeMicroseconds }) => nodeMicroseconds)) /
        sum(turns.map(({ requests }) => requests))
      ).toFixed(1),
    ];
  });
  return renderTable(
    ["checkout", "requests/s", "ratio to the first", "middle half of the turns", "node µs"],
    rows,
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name}: expected a positive integer.\n${usage}`);
}

/** The first signal ends the comparison, stops every process that it started and deletes its data. */
const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => interruption.abort(new Error(`Ended by ${name}.`)));
}

try {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { connections: text, turns: text, keys: text },
  });
  if (positionals.length < 2) throw new Error(`At least two checkouts are required.\n${usage}`);
  await compare(
    positionals.map((directory) => resolve(directory)),
    {
      connections: (values.connections ?? "64,256")
        .split(",")
        .map((number) => readNumber("connections", number)),
      turns: readNumber("turns", values.turns ?? "50"),
      keys: readNumber("keys", values.keys ?? "1"),
      signal: interruption.signal,
    },
  );
} catch (thrown) {
  const error: unknown = interruption.signal.aborted ? interruption.signal.reason : thrown;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
