import { addAbortListener } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterLocation } from "./cluster-location.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { type JoinAttempt, type Presence, tryJoin } from "./presence.ts";
import { logPath } from "./server-log.ts";
import { readPidFile, type ServerProcess, startServer, stopWithinMilliseconds } from "./server-process.ts";

/** A cluster that can be joined, and started if it is not running. */
export interface Cluster {
  readonly location: ClusterLocation;
  readonly binaries: Binaries;
  readonly superuser: ClusterConnection;
}

/** The presence of this process on a running cluster. `server` is set if this process started Postgres. */
export interface Membership {
  readonly presence: Presence;
  readonly server?: ServerProcess;
}

/** How a process waits for a Postgres that it can't join yet. */
export interface JoinOptions {
  /** Ends the wait within about a second. */
  readonly signal?: AbortSignal | undefined;
  /** Called after `reportAfterMs` and then once per minute, as long as Postgres is starting or recovering. */
  readonly onStarting?: (() => void) | undefined;
  /** Limits the wait for a Postgres that is stopping or doesn't answer, in milliseconds; 60,000 by default. */
  readonly joinWithinMs?: number;
  /** In milliseconds; 10,000 by default. */
  readonly reportAfterMs?: number;
}

const reportEveryMs = 60_000;

/** How long an attempt to join may still take after the wait was ended. */
const overdueMilliseconds = 1_000;
const hanging: JoinAttempt = { kind: "busy", reason: "it does not answer" };

/**
 * Failures that another Postgres causes while it starts or stops. Only that Postgres may remove its lock files and
 * shared memory, so the start is tried again.
 */
const transientFailure = /lock file ".*" (already exists|is empty)|pre-existing shared memory block/;

/** The Postgres that an attempt to join has started, if any. */
interface Started {
  server?: ServerProcess | undefined;
}

/**
 * Joins the cluster's running Postgres, or starts it first. Waits for a Postgres that is starting or recovering until
 * `signal` aborts, and up to 60 s for one that is stopping or doesn't answer. If it fails, the Postgres that it started
 * has been stopped.
 * @throws EmbeddedPostgresError `start-failed`, and the reason of `signal`
 */
export async function joinCluster(cluster: Cluster, options: JoinOptions = {}): Promise<Membership> {
  const started: Started = {};
  try {
    return await tryUntilJoined(cluster, started, options);
  } catch (error) {
    // Nothing else would stop it. A process that has just joined it starts it again.
    started.server?.interrupt();
    if (started.server) await settlesWithin(stopWithinMilliseconds, started.server.exited);
    throw error;
  }
}

async function tryUntilJoined(cluster: Cluster, started: Started, options: JoinOptions): Promise<Membership> {
  const { signal } = options;
  const aborting = Promise.withResolvers<void>();
  using _listener = signal && addAbortListener(signal, () => aborting.resolve());
  const aborted = signal && aborting.promise;
  const overdue = aborted?.then(() => delay(overdueMilliseconds, hanging, { ref: false }));
  const wait = createWait(options);
  let failure = "it did not answer in time";
  for (let pause = 20; ; pause = Math.min(pause * 1.5, 500)) {
    const joining = tryJoin(cluster.superuser);
    const attempt = await (overdue ? Promise.race([joining, overdue]) : joining);
    if (attempt === hanging) endPresence(joining);
    if (attempt.kind === "present") return await membership(cluster, attempt.presence, started.server);
    signal?.throwIfAborted();
    if (attempt.kind !== "absent") failure = attempt.reason;
    const { server } = started;
    if (server?.hasExited()) {
      failure = await server.findFailure();
      started.server = undefined;
      // Another process that joined it may have stopped it when it left.
      if (!server.wasStopped() && !transientFailure.test(failure)) break;
    } else if (attempt.kind === "absent" && !server) {
      started.server = await startServer(cluster.location, cluster.binaries);
    }
    if (!wait.canContinue(attempt, started)) break;
    const events = [started.server?.exited, aborted].filter((event) => event !== undefined);
    await settlesWithin(pause, Promise.race(events));
  }
  throw new EmbeddedPostgresError(
    "start-failed",
    `The embedded Postgres did not start: ${failure}; its log is ${logPath(cluster.location.cluster)}.`,
  );
}

/**
 * Limits the wait to `joinWithinMs` after the last sign that Postgres was starting. The start itself has no limit:
 * recovery takes as long as the log to replay is, and would begin again from the same checkpoint after a limit.
 */
function createWait({ onStarting, joinWithinMs = 60_000, reportAfterMs = 10_000 }: JoinOptions) {
  let until = performance.now() + joinWithinMs;
  let reportAt = performance.now() + reportAfterMs;
  return {
    canContinue({ kind }: JoinAttempt, { server }: Started): boolean {
      const now = performance.now();
      // Our Postgres doesn't listen yet. This doesn't extend the wait, because a start can fail over and over.
      const isLaunching = kind === "absent" && server !== undefined;
      if (kind === "starting") until = now + joinWithinMs;
      else if (!isLaunching) {
        reportAt = Math.max(reportAt, now + reportAfterMs);
        return now < until;
      }
      if (now >= reportAt) {
        reportAt = now + reportEveryMs;
        onStarting?.();
      }
      return true;
    },
  };
}

async function membership(
  cluster: Cluster,
  presence: Presence,
  server: ServerProcess | undefined,
): Promise<Membership> {
  // If another process was faster, our Postgres is about to exit.
  const running = server && (await readPidFile(cluster.location.cluster));
  return server && running?.pid === server.pid ? { presence, server } : { presence };
}

/** Ends the presence that an attempt creates after nobody waits for it any longer. */
function endPresence(joining: Promise<JoinAttempt>): void {
  joining
    .then(async (attempt) => {
      if (attempt.kind === "present") await attempt.presence.end();
    })
    .catch(() => {});
}

/** Waits for `event`, but at most `milliseconds`. Without an event, waits for the whole time. */
export async function settlesWithin(milliseconds: number, event?: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const passed = delay(milliseconds, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([passed, event ?? passed]);
  timer.abort();
}
