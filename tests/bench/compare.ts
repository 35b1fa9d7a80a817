import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createApiKey } from "@latchkey/auth/key-format";
import { authSecret, startNode } from "../support/product.ts";
import { type Ground, openGround, urlOf } from "./ground/ground.ts";
import { seedLatchkey } from "./ground/seed-latchkey.ts";
import { Callers } from "./load/callers.ts";
import { readProcessorMicroseconds } from "./measure/processor-time.ts";
import { median, percentile } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:compare`: how much more or less one checkout admits than another. All run at once and are loaded in turns
// of a fraction of a second: a machine that is slow for some seconds is so for all of them, and a difference of a
// twentieth shows that `pnpm bench` cannot tell from chance. What it says of a checkout against itself is its error.

const usage = `pnpm bench:compare [options] DIRECTORY...
  Each a checkout with its dependencies installed and a built web app; the others are held against the first.
  --connections A,B numbers of connections (64,256)
  --turns N         how many turns each has (50)
  --keys N          how many keys are used (1)
`;

const turnMs = 160;
/** Of a turn, until it is at full load. */
const startMs = 40;
const warmUpMs = 5_000;

interface Contestant {
  readonly directory: string;
  readonly baseUrl: string;
  readonly pid: number;
}

/** What became of one turn. */
interface Turn {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Processor time of the server's process. */
  readonly nodeMicroseconds: number;
}

interface CompareOptions {
  readonly connections: readonly number[];
  readonly turns: number;
  readonly keys: number;
  /** Ends it and every process of it. */
  readonly signal: AbortSignal;
}

async function compare(
  directories: readonly string[],
  { connections, turns, keys, signal }: CompareOptions,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const ground = await openGround();
  stack.defer(ground.close);
  const secrets = Array.from({ length: keys }, () => createApiKey().secret);
  const contestants: Contestant[] = [];
  for (const [place, directory] of directories.entries()) {
    signal.throwIfAborted();
    const databaseUrl = await prepare(ground, `checkout_${place + 1}`, secrets);
    const node = await startNode({ DATABASE_URL: databaseUrl, AUTH_SECRET: authSecret }, { directory });
    stack.defer(async () => {
      await node.stop();
    });
    contestants.push({ directory, baseUrl: node.baseUrl, pid: node.pid });
  }
  for (const count of connections) {
    const measured = await takeTurns(contestants, { secrets, connections: count, turns, signal });
    console.info(`\n${count} connections\n\n${describe(contestants, measured)}`);
  }
}

async function prepare(ground: Ground, name: string, secrets: readonly string[]): Promise<string> {
  const address = await ground.createDatabase(name);
  await seedLatchkey(address, { secrets, storedKeys: secrets.length });
  return urlOf(address);
}

/** @returns what became of the turns of each. */
async function takeTurns(
  contestants: readonly Contestant[],
  options: {
    readonly secrets: readonly string[];
    readonly connections: number;
    readonly turns: number;
    readonly signal: AbortSignal;
  },
): Promise<Turn[][]> {
  const { signal } = options;
  using stack = new DisposableStack();
  const parties: { readonly pid: number; readonly callers: Callers; readonly measured: Turn[] }[] = [];
  for (const { baseUrl, pid } of contestants) {
    const callers = await Callers.connect(baseUrl, options.secrets, options.connections);
    stack.defer(() => callers.close());
    callers.begin();
    await delay(warmUpMs, undefined, { signal });
    await callers.end();
    parties.push({ pid, callers, measured: [] });
  }
  for (let turn = 0; turn < options.turns; turn += 1) {
    for (const { pid, callers, measured } of turn % 2 === 0 ? parties : parties.toReversed()) {
      callers.begin();
      await delay(startMs, undefined, { signal });
      const from = {
        at: performance.now(),
        answered: callers.answered,
        cpu: await readProcessorMicroseconds(pid),
      };
      await delay(turnMs - startMs, undefined, { signal });
      const requests = callers.answered - from.answered;
      const seconds = (performance.now() - from.at) / 1_000;
      const nodeMicroseconds = (await readProcessorMicroseconds(pid)) - from.cpu;
      await callers.end();
      measured.push({ requests, requestsPerSecond: requests / seconds, nodeMicroseconds });
    }
  }
  return parties.map(({ measured }) => measured);
}

function describe(contestants: readonly Contestant[], measured: readonly Turn[][]): string {
  const rows = contestants.map(({ directory }, place) => {
    const turns = measured[place] ?? [];
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
  return renderTable(["checkout", "requests/s", "to the first", "half of the turns", "node µs"], rows);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} takes whole numbers.\n${usage}`);
}

/** The first signal ends it the orderly way: every process it started, and all that it stored, goes. */
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
  if (positionals.length < 2) throw new Error(`Name two checkouts or more.\n${usage}`);
  await compare(
    positionals.map((directory) => resolve(directory)),
    {
      connections: (values.connections ?? "64,256").split(",").map((one) => readNumber("connections", one)),
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
