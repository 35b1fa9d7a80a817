import { setTimeout as delay } from "node:timers/promises";
import type { Ground } from "../ground/ground.ts";
import { type LoadReport, type RunningLoad, startLoad } from "../load/start-load.ts";
import { benchPath } from "../servers/answer.ts";
import type { RunningServer } from "../servers/start-peer.ts";
import { type Subject, type SubjectName, withServer } from "../subjects.ts";
import { auditBooks, readBooks, type Total } from "./books.ts";
import { type Meters, readMeters } from "./meters.ts";
import { mean, median } from "./statistics.ts";

/** One subject at one number of connections, once. All processor times are per request. */
export interface Measurement {
  readonly subject: SubjectName;
  readonly connections: number;
  /** The median of the turns, as are latencies. */
  readonly requestsPerSecond: number;
  /** How many times as many as bare Koa answered before and after. */
  readonly koaShare: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  /** What the p50 is more than bare Koa's before and after. */
  readonly addedMicroseconds: number;
  readonly nodeMicroseconds: number;
  readonly generatorMicroseconds: number;
  /** Undefined for a server without a database, here and below. */
  readonly postgresMicroseconds: number | undefined;
  /** Bytes of write-ahead log a request, between checkpoints. */
  readonly walBytes: number | undefined;
  /** How many answers one flush of the write-ahead log stood for, over the whole life of the process. */
  readonly requestsPerFlush: number | undefined;
  /**
   * How much of the processors (0 to 1) went to what is no part of the measurement: other programs, and other machines
   * on the same hardware. Where it is not close to nothing, the figures tell of them too.
   */
  readonly lostShare: number;
}

export interface MeasuringOptions {
  readonly connections: number;
  readonly warmUpSeconds: number;
  /** Of a second each, after one that is not counted. */
  readonly turns: number;
  /** Bare Koa, to compare with in between. */
  readonly yardstick: Subject;
  /** Ends the measurement and every process of it. */
  readonly signal: AbortSignal;
}

/**
 * Measures one subject in fresh processes, in turns with bare Koa: on a machine that goes twice as fast in one second as
 * in another, only what was measured side by side can be compared.
 * @throws an Error when an answer is a refusal, when uses were not counted exactly, or when a count cannot have been
 * durable before its answer.
 */
export async function measure(
  ground: Ground,
  subject: Subject,
  options: MeasuringOptions,
): Promise<Measurement> {
  // So that no checkpoint falls into the turns: the next one that time brings is five minutes away.
  await ground.admin.query("checkpoint");
  const before = await readBooks(ground, subject);
  const { turns, total } = await withServer(options.yardstick.start, (koa) =>
    withServer(subject.start, (server) => observe(ground, { ...options, subject, server, koa })),
  );
  const after = await readBooks(ground, subject);
  const hasBooks = before && after;
  const middle = (read: (turn: Turn) => number): number => median(turns.map(read));
  const perRequest = (meter: Meter): number =>
    mean(turns.map(({ spent }) => spent[meter])) / mean(turns.map(({ requests }) => requests));
  return {
    subject: subject.name,
    connections: options.connections,
    requestsPerSecond: middle(({ load }) => load.requestsPerSecond),
    koaShare: middle(
      ({ load, koa }) => load.requestsPerSecond / mean(koa.map((one) => one.requestsPerSecond)),
    ),
    p50Microseconds: middle(({ load }) => load.p50Microseconds),
    p99Microseconds: middle(({ load }) => load.p99Microseconds),
    addedMicroseconds: middle(
      ({ load, koa }) => load.p50Microseconds - mean(koa.map((one) => one.p50Microseconds)),
    ),
    nodeMicroseconds: perRequest("node"),
    generatorMicroseconds: perRequest("generator"),
    postgresMicroseconds: hasBooks && perRequest("postgres"),
    walBytes: hasBooks && perRequest("walBytes"),
    lostShare: middle(({ spent }) => spent.lostShare),
    requestsPerFlush: hasBooks && auditBooks(subject.name, { before, after, total }),
  };
}

/** One turn of the subject's. */
interface Turn {
  readonly load: LoadReport;
  /** What bare Koa did before and after. */
  readonly koa: readonly LoadReport[];
  /** What the meters showed in the midst of it, and for how many requests. */
  readonly spent: Record<Meter, number> & { readonly lostShare: number };
  readonly requests: number;
}

type Meter = "node" | "generator" | "postgres" | "walBytes";

interface Observation {
  readonly turns: readonly Turn[];
  readonly total: Total;
}

/** Over how many connections each key is sent for the first time, and for how many seconds at first. */
const firstConnections = 64;
const firstSeconds = 4;
const firstAttempts = 10;
/** A turn is measured again when the machine stood still, and the generator was gone before its meters were read. */
const mostTurns = 4;
const turnSeconds = 1;
/** Between the start of the generator and the first reading of the meters, and between the last one and its end. */
const marginMs = 200;

async function observe(
  ground: Ground,
  options: MeasuringOptions & {
    readonly subject: Subject;
    readonly server: RunningServer;
    readonly koa: RunningServer;
  },
): Promise<Observation> {
  const { subject, server, connections, signal } = options;
  const url = `${server.baseUrl}${benchPath}`;
  let total: Total = { answered: 0, sent: 0, mostConnections: 0 };
  const start = (seconds: number, over = connections): RunningLoad => {
    // Each run goes on with the keys where the last one ended.
    const keys = rotate(subject.keys, total.answered);
    const load = startLoad({ url, keys, connections: over, seconds }, signal);
    const ended = load.ended.then((report) => {
      total = addRun(total, report, over);
      return report;
    });
    ended.catch(() => undefined); // Whoever awaits it is told, after the meters were read.
    return { ...load, ended };
  };
  const runKoa = (seconds: number): Promise<LoadReport> => {
    const order = { url: `${options.koa.baseUrl}${benchPath}`, keys: subject.keys, connections };
    return startLoad({ ...order, seconds }, signal).ended;
  };
  // The second that is counted finds the machine as the same server has left it: whoever comes after another, or after
  // none, is slower at first.
  const takeKoasTurn = async (): Promise<LoadReport> => {
    await runKoa(turnSeconds);
    return await runKoa(turnSeconds);
  };
  if (subject.remembersKeys && subject.keys.length > 1) {
    for (let attempt = 0; attempt < firstAttempts && total.answered < subject.keys.length; attempt += 1)
      await start(firstSeconds, firstConnections).ended;
  }
  await start(options.warmUpSeconds).ended;
  await runKoa(options.warmUpSeconds);
  const turns: Turn[] = [];
  let koa = await takeKoasTurn();
  for (let turn = 0; turns.length < options.turns; turn += 1) {
    await start(turnSeconds).ended;
    const { pid, ended } = start(turnSeconds);
    const meters = await readMetersWithin(ground, { server: server.pid, generator: pid, signal });
    const load = await ended;
    const after = await takeKoasTurn();
    if (meters) {
      const { seconds, spent } = meters;
      turns.push({ load, koa: [koa, after], spent, requests: load.requestsPerSecond * seconds });
    } else if (turn >= mostTurns * options.turns) throw new Error("The machine stands still too often.");
    koa = after;
  }
  return { turns, total };
}

function rotate<T>(list: readonly T[], by: number): readonly T[] {
  const place = by % list.length;
  return [...list.slice(place), ...list.slice(0, place)];
}

/** What the midst of a turn took; undefined where the generator was gone by its end. */
async function readMetersWithin(
  ground: Ground,
  { signal, ...pids }: { readonly server: number; readonly generator: number; readonly signal: AbortSignal },
): Promise<(Pick<Turn, "spent"> & { readonly seconds: number }) | undefined> {
  await delay(marginMs, undefined, { signal });
  const from = await readMeters(ground, pids);
  const until = from.atMs + turnSeconds * 1_000 - 2 * marginMs;
  await delay(until - performance.now(), undefined, { signal });
  const to = await readMeters(ground, pids);
  return from.generator === undefined || to.generator === undefined
    ? undefined
    : { seconds: (to.atMs - from.atMs) / 1_000, spent: difference(from, to) };
}

function difference(from: Meters, to: Meters): Turn["spent"] {
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

function addRun({ answered, sent, mostConnections }: Total, run: LoadReport, connections: number): Total {
  return {
    answered: answered + run.answered,
    sent: sent + run.answered + connections,
    mostConnections: Math.max(mostConnections, connections),
  };
}
