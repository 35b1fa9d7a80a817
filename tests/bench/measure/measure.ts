import { setTimeout as delay } from "node:timers/promises";
import type { Ground } from "../ground/ground.ts";
import type { LoadTotal, LoadWindow } from "../load/messages.ts";
import { startLoad } from "../load/start-load.ts";
import { benchPath } from "../servers/answer.ts";
import type { RunningServer } from "../servers/start-peer.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { auditBooks, readBooks } from "./books.ts";
import { type Meters, readMeters } from "./meters.ts";

/** One subject at one number of connections, once. All processor times are per request. */
export interface Measurement {
  readonly subject: SubjectName;
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
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
  readonly seconds: number;
  /** Ends the measurement and every process of it. */
  readonly signal: AbortSignal;
}

/**
 * Measures one subject in fresh processes.
 * @throws an Error when an answer is no 2xx, when uses were not counted exactly, or when a count cannot have been
 * durable before its answer.
 */
export async function measure(
  ground: Ground,
  subject: Subject,
  options: MeasuringOptions,
): Promise<Measurement> {
  // So that no checkpoint falls into the window: the next one that time brings is five minutes away.
  await ground.admin.query("checkpoint");
  const before = await readBooks(ground, subject);
  const server = await subject.start();
  let observation: Observation;
  try {
    observation = await observe(ground, { subject, server, ...options });
  } finally {
    await server.stop();
  }
  const after = await readBooks(ground, subject);
  const { window, from, to, total } = observation;
  const requestsPerSecond = window.requests / window.seconds;
  // The meters were read a moment before and after the window, at the same load.
  const metered = requestsPerSecond * ((to.atMs - from.atMs) / 1_000);
  const hasBooks = before && after;
  return {
    subject: subject.name,
    connections: options.connections,
    requestsPerSecond,
    p50Microseconds: window.p50Microseconds,
    p99Microseconds: window.p99Microseconds,
    nodeMicroseconds: (to.node - from.node) / metered,
    generatorMicroseconds: window.generatorMicroseconds / window.requests,
    postgresMicroseconds: hasBooks && (to.postgres - from.postgres) / metered,
    walBytes: hasBooks && (to.walBytes - from.walBytes) / metered,
    lostShare: computeLostShare(observation),
    requestsPerFlush: hasBooks && auditBooks(subject.name, { before, after, total }),
  };
}

function computeLostShare({ window, from, to }: Observation): number {
  const ours = to.node - from.node + (to.postgres - from.postgres) + window.generatorMicroseconds;
  const busy = to.machine.busy - from.machine.busy;
  const stolen = to.machine.stolen - from.machine.stolen;
  return (Math.max(0, busy - ours) + stolen) / (to.machine.total - from.machine.total);
}

interface Observation {
  readonly window: LoadWindow;
  readonly from: Meters;
  readonly to: Meters;
  readonly total: LoadTotal;
}

async function observe(
  ground: Ground,
  options: MeasuringOptions & { readonly subject: Subject; readonly server: RunningServer },
): Promise<Observation> {
  const { subject, server, connections, signal } = options;
  const order = {
    url: `${server.baseUrl}${benchPath}`,
    keys: subject.keys,
    connections,
    sendsEachKeyFirst: subject.remembersKeys && subject.keys.length > 1,
  };
  const load = await startLoad(order, signal);
  await delay(options.warmUpSeconds * 1_000, undefined, { signal });
  const from = await readMeters(ground, server.pid);
  load.open();
  await delay(options.seconds * 1_000, undefined, { signal });
  const window = await load.close();
  const to = await readMeters(ground, server.pid);
  return { window, from, to, total: await load.ended };
}
