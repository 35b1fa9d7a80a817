import { once } from "node:events";
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

/** Limits recovery after a crash, and the wait for an earlier Postgres to stop. */
const joinWithinMilliseconds = 60_000;

/** How long an attempt to join may still take after the wait was ended. */
const overdueMilliseconds = 1_000;
const hanging: JoinAttempt = { kind: "busy", reason: "it does not answer" };

/**
 * Failures that another Postgres causes while it starts or stops. Only that Postgres may remove its lock files and
 * shared memory, so the start is tried again.
 */
const transientFailure = /lock file ".*" (already exists|is empty)|pre-existing shared memory block/;

/**
 * Joins the cluster's running Postgres, or starts it first. Waits up to 60 s for a Postgres that is recovering or
 * stopping.
 * @param signal ends the wait within about a second, and stops the Postgres that was started for it.
 * @throws EmbeddedPostgresError `start-failed`, and the reason of `signal`
 */
export async function joinCluster(cluster: Cluster, signal?: AbortSignal): Promise<Membership> {
  const bound = AbortSignal.timeout(joinWithinMilliseconds);
  const aborted = signal && whenAborted(signal);
  const overdue = aborted?.then(() => delay(overdueMilliseconds, hanging, { ref: false }));
  let server: ServerProcess | undefined;
  let failure = "it did not answer in time";
  for (let pause = 20; !bound.aborted; pause = Math.min(pause * 1.5, 500)) {
    const joining = tryJoin(cluster.superuser);
    const attempt = await (overdue ? Promise.race([joining, overdue]) : joining);
    if (attempt === hanging) endPresence(joining);
    if (attempt.kind === "present") return await membership(cluster, attempt.presence, server);
    if (signal?.aborted) {
      // No other process can be present on a Postgres that doesn't accept connections yet.
      server?.interrupt();
      if (server) await settlesWithin(stopWithinMilliseconds, server.exited);
      signal.throwIfAborted();
    }
    if (attempt.kind === "busy") failure = attempt.reason;
    if (server?.hasExited()) {
      failure = await server.findFailure();
      server = undefined;
      if (!transientFailure.test(failure)) break;
    } else if (attempt.kind === "absent" && !server) {
      server = await startServer(cluster.location, cluster.binaries);
    }
    const events = [server?.exited, aborted].filter((event) => event !== undefined);
    await settlesWithin(pause, Promise.race(events));
  }
  throw new EmbeddedPostgresError(
    "start-failed",
    `The embedded Postgres did not start: ${failure}; its log is ${logPath(cluster.location.cluster)}.`,
  );
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

/** Settles when the signal aborts. */
async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
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
