import { unwatchFile, watchFile } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, joinCluster, type Membership } from "./join-cluster.ts";
import { logPath, rotateLog } from "./server-log.ts";
import { readPidFile, stopServer } from "./server-process.ts";

/**
 * `lost`: Postgres has ended unexpectedly and is being restarted. `recovered`: it is available again. `starting`: it has been
 * starting or recovering for more than ten seconds; for each start, at most once per minute.
 */
export interface EmbeddedPostgresEvent {
  readonly kind: "lost" | "recovered" | "starting";
}

/** The supervision of a cluster that is in use. */
export interface Supervision {
  /**
   * Ends the supervision. Returns the membership of this process, or undefined if Postgres is not running at that
   * moment.
   */
  readonly end: () => Promise<Membership | undefined>;
}

const firstPauseMs = 200;
/** Limits how long Postgres stays unavailable after the cause of a failed start has been removed. */
const longestPauseMs = 2000;
const pidFilePollMs = 1000;
const logSizePollMs = 2000;

/** Joins the cluster again whenever this process's presence on it ends. */
export function superviseCluster(options: {
  cluster: Cluster;
  membership: Membership;
  onEvent: (event: EmbeddedPostgresEvent) => void;
}): Supervision {
  const { cluster, onEvent } = options;
  const ending = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    ending.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const unwatch = [forceFastShutdown(cluster), boundLog(cluster)];

  async function watch(): Promise<Membership | undefined> {
    let current = options.membership;
    while (true) {
      const outcome = await Promise.race([current.presence.ended.then(() => "lost"), aborted]);
      if (outcome !== "lost") return current;
      onEvent({ kind: "lost" });
      const next = await rejoin(cluster, {
        signal: ending.signal,
        onStarting: () => onEvent({ kind: "starting" }),
      });
      if (!next) return undefined;
      current = next;
      if (!ending.signal.aborted) onEvent({ kind: "recovered" });
    }
  }

  const watched = watch();
  return {
    end() {
      for (const stop of unwatch) stop();
      ending.abort();
      return watched;
    },
  };
}

async function rejoin(
  cluster: Cluster,
  options: { readonly signal: AbortSignal; readonly onStarting: () => void },
): Promise<Membership | undefined> {
  const { signal } = options;
  for (let pause = firstPauseMs; !signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
    try {
      return await joinCluster(cluster, options);
    } catch {
      // The cause (such as a full disk) may be temporary. Postgres logs it. Jitter keeps the processes of one data
      // directory from trying at the same time over and over.
      await delay(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}

/**
 * After a SIGTERM (`kill`, a service manager), Postgres rejects new sessions and waits for existing ones to end,
 * including ours, which never end. This turns the shutdown into a fast one, after which the cluster is rejoined as
 * after any other loss.
 */
function forceFastShutdown(cluster: Cluster): () => void {
  const path = join(cluster.location.cluster, "postmaster.pid");
  const look = async (): Promise<void> => {
    if ((await readPidFile(cluster.location.cluster))?.status !== "stopping") return;
    await stopServer(cluster.location).catch(() => {});
  };
  watchFile(path, { interval: pidFilePollMs, persistent: false }, look);
  return () => unwatchFile(path, look);
}

/** Rotates the log of a Postgres that keeps running. */
function boundLog(cluster: Cluster): () => void {
  const path = logPath(cluster.location.cluster);
  const look = (): void => void rotateLog(cluster.location);
  watchFile(path, { interval: logSizePollMs, persistent: false }, look);
  return () => unwatchFile(path, look);
}
