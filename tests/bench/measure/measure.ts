import { setTimeout as delay } from "node:timers/promises";
import type { BenchCluster } from "../database/bench-cluster.ts";
import { type LoadReport, type RunningLoad, startLoad } from "../load/start-load.ts";
import type { RunningServer } from "../servers/start-peer.ts";
import { type Subject, withServer } from "../subject.ts";
import { checkCounts, type LoadTotals, readCounts } from "./database-counts.ts";
import { type ResourceCounters, readResourceCounters } from "./resource-counters.ts";
import { mean, median } from "./statistics.ts";

/** One measurement of a subject at one number of connections. Processor times are per request. */
export interface Measurement {
  readonly subject: string;
  readonly connections: number;
  /** The median of the turns, like the latencies. */
  readonly requestsPerSecond: number;
  /** The ratio to bare Koa's throughput before and after. */
  readonly koaShare: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  /** The p50 minus bare Koa's p50 before and after. */
  readonly addedMicroseconds: number;
  readonly nodeMicroseconds: number;
  readonly generatorMicroseconds: number;
  /** Undefined for a server without a database, like the next two. */
  readonly postgresMicroseconds: number | undefined;
  /** Bytes of write-ahead log per request, between checkpoints. */
  readonly walBytes: number | undefined;
  /** Responses per flush of the write-ahead log, over the whole life of the process. */
  readonly requestsPerFlush: number | undefined;
  /**
   * The share of the processor time (0 to 1) that other programs, and other machines on the same hardware, used. If it
   * isn't close to 0, they affect the figures.
   */
  readonly lostShare: number;
}

export interface MeasuringOptions {
  readonly connections: number;
  readonly warmUpSeconds: number;
  /** The number of turns. Each takes one second, after a second that isn't counted. */
  readonly turns: number;
  /** Ends the measurement and its processes. */
  readonly signal: AbortSignal;
}

/**
 * Measures one subject in new processes, alternating with bare Koa: on a machine that can be twice as fast in one
 * second as in another, only measurements that alternate are comparable.
 * @throws an Error if more responses than the subject may are unsuccessful, if uses weren't counted exactly, or if a count can't have been
 *   durable before its response.
 */
export async function measure(
  cluster: BenchCluster,
  subject: Subject,
  options: MeasuringOptions,
): Promise<Measurement> {
  // Ensures that no checkpoint happens during the turns: the next scheduled one is five minutes away.
  await cluster.admin.query("checkpoint");
  const before = await readCounts(cluster, subject);
  const { turns, total } = await withServer(subject.startReference, (koa) =>
    withServer(subject.start, (server) => takeTurns(cluster, { ...options, subject, server, koa })),
  );
  const after = await readCounts(cluster, subject);
  const hasCounts = before && after;
  const medianTurn = (read: (turn: Turn) => number): number => median(turns.map(read));
  const perRequest = (resource: Resource): number =>
    mean(turns.map(({ used }) => used[resource])) / mean(turns.map(({ requests }) => requests));
  return {
    subject: subject.name,
    connections: options.connections,
    requestsPerSecond: medianTurn(({ load }) => load.requestsPerSecond),
    koaShare: medianTurn(
      ({ load, koa }) => load.requestsPerSecond / mean(koa.map((report) => report.requestsPerSecond)),
    ),
    p50Microseconds: medianTurn(({ load }) => load.p50Microseconds),
    p99Microseconds: medianTurn(({ load }) => load.p99Microseconds),
    addedMicroseconds: medianTurn(
      ({ load, koa }) => load.p50Microseconds - mean(koa.map((report) => report.p50Microseconds)),
    ),
    nodeMicroseconds: perRequest("node"),
    generatorMicroseconds: perRequest("generator"),
    postgresMicroseconds: hasCounts && perRequest("postgres"),
    walBytes: hasCounts && perRequest("walBytes"),
    lostShare: medianTurn(({ used }) => used.lostShare),
    requestsPerFlush: hasCounts && checkCounts(subject, { before, after, total }),
  };
}

/** One turn of the subject. */
interface Turn {
  readonly load: LoadReport;
  /** Bare Koa before and after. */
  readonly koa: readonly LoadReport[];
  /** The resources used in the middle of the turn, and the number of requests in that time. */
  readonly used: Record<Resource, number> & { readonly lostShare: number };
  readonly requests: number;
}

type Resource = "node" | "generator" | "postgres" | "walBytes";

interface TurnResults {
  readonly turns: readonly Turn[];
  readonly total: LoadTotals;
}

/**
 * The connections and the duration of the loads that use each key for the first time. The first use of a key takes a lookup of about
 * 200 µs, and lookups run one after the other. The limit on uses in flight keeps requests far from their deadline of 1.5 s.
 */
const firstConnections = 64;
const maxFirstUsesInFlight = 800;
const firstSeconds = 4;
const firstAttempts = 10;
/**
 * The maximum attempts per turn. A turn is repeated if the machine stalled, and the generator exited before its
 * counters were read.
 */
const maxAttemptsPerTurn = 4;
const turnSeconds = 1;
/** The time between the start of the generator and the first reading, and between the second reading and its end. */
const marginMs = 200;

async function takeTurns(
  cluster: BenchCluster,
  options: MeasuringOptions & {
    readonly subject: Subject;
    readonly server: RunningServer;
    readonly koa: RunningServer;
  },
): Promise<TurnResults> {
  const { subject, server, connections, signal } = options;
  const url = `${server.baseUrl}${subject.path}`;
  let total: LoadTotals = { answered: 0, rejected: 0, sent: 0, maxConnections: 0 };
  const start = (seconds: number, count = connections): RunningLoad => {
    // Each load continues with the request after the last one sent.
    const requests = rotate(subject.requests, total.answered);
    const { maxRejectedShare = 0 } = subject;
    const load = startLoad({ url, requests, connections: count, seconds, maxRejectedShare }, signal);
    const ended = load.ended.then((report) => {
      total = addLoad(total, report, count);
      return report;
    });
    ended.catch(() => undefined); // Callers get the error when they await the promise, after reading the counters.
    return { ...load, ended };
  };
  const runKoa = (seconds: number): Promise<LoadReport> => {
    const url = `${options.koa.baseUrl}${subject.path}`;
    return startLoad({ url, requests: subject.requests, connections, seconds }, signal).ended;
  };
  // Runs one turn that isn't counted first, because a server is slower right after another one ran.
  const measureKoa = async (): Promise<LoadReport> => {
    await runKoa(turnSeconds);
    return await runKoa(turnSeconds);
  };
  if (subject.remembersKeys && subject.requests.length > 1) {
    const count = Math.min(firstConnections, Math.ceil(maxFirstUsesInFlight / subject.usesPerRequest));
    for (let attempt = 0; attempt < firstAttempts && total.answered < subject.requests.length; attempt += 1)
      await start(firstSeconds, count).ended;
  }
  await start(options.warmUpSeconds).ended;
  await runKoa(options.warmUpSeconds);
  const turns: Turn[] = [];
  let koa = await measureKoa();
  for (let turn = 0; turns.length < options.turns; turn += 1) {
    await start(turnSeconds).ended;
    const { pid, ended } = start(turnSeconds);
    const resources = await measureResources(cluster, { server: server.pid, generator: pid, signal });
    const load = await ended;
    const after = await measureKoa();
    if (resources) {
      const { seconds, used } = resources;
      turns.push({ load, koa: [koa, after], used, requests: load.requestsPerSecond * seconds });
    } else if (turn >= maxAttemptsPerTurn * options.turns) throw new Error("The machine stalls too often.");
    koa = after;
  }
  return { turns, total };
}

function rotate<T>(list: readonly T[], by: number): readonly T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

/** Measures the resources used in the middle of a turn; undefined if the generator had exited by then. */
async function measureResources(
  cluster: BenchCluster,
  { signal, ...pids }: { readonly server: number; readonly generator: number; readonly signal: AbortSignal },
): Promise<(Pick<Turn, "used"> & { readonly seconds: number }) | undefined> {
  await delay(marginMs, undefined, { signal });
  const from = await readResourceCounters(cluster, pids);
  const until = from.atMs + turnSeconds * 1_000 - 2 * marginMs;
  await delay(until - performance.now(), undefined, { signal });
  const to = await readResourceCounters(cluster, pids);
  return from.generator === undefined || to.generator === undefined
    ? undefined
    : { seconds: (to.atMs - from.atMs) / 1_000, used: subtractCounters(from, to) };
}

function subtractCounters(from: ResourceCounters, to: ResourceCounters): Turn["used"] {
  const node = to.node - from.node;
  const generator = (to.generator ?? 0) - (from.generator ?? 0);
  const postgres = to.postgres - from.postgres;
  const busy = to.machine.busy - from.machine.busy;
  const stolen = to.machine.stolen - from.machine.stolen;
  const lost = Math.max(0, busy - node - generator - postgres) + stolen;
  return {
    node,
    generator,
    postgres,
    walBytes: to.walBytes - from.walBytes,
    lostShare: lost / (to.machine.total - from.machine.total),
  };
}

function addLoad(
  { answered, rejected, sent, maxConnections }: LoadTotals,
  run: LoadReport,
  connections: number,
): LoadTotals {
  return {
    answered: answered + run.answered,
    rejected: rejected + run.rejected,
    sent: sent + run.answered + connections,
    maxConnections: Math.max(maxConnections, connections),
  };
}
