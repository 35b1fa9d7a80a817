import { type Binaries, getBinaries } from "./binaries.ts";
import { type ClusterConnection, readSuperuserConnection } from "./cluster-connection.ts";
import { findClusterLocation, hasCluster } from "./cluster-location.ts";
import { createCluster, removeStaleClusters, requireVersion } from "./create-cluster.ts";
import { createDataDirectory } from "./data-directory.ts";
import { type Cluster, joinCluster, type Membership, settlesWithin } from "./join-cluster.ts";
import { stopServer } from "./server-process.ts";
import { type EmbeddedPostgresEvent, superviseCluster } from "./supervise-cluster.ts";

/** A running cluster that this process has joined. */
export interface OpenCluster {
  /** How the superuser connects. Stays the same when Postgres restarts. */
  readonly superuser: ClusterConnection;
  /** The home of the cluster. `reason` states why it is not the data directory. */
  readonly location: { readonly directory: string; readonly reason?: string };
  /** Where the copy of the Postgres programs is, and why they were copied; undefined if the installed ones run. */
  readonly copiedBinaries: Binaries["copy"];
  /** `found`: Postgres was already running, for another process or left behind by a killed one. */
  readonly kind: "started" | "found";
  /**
   * Leaves the cluster. The last process to leave stops Postgres and waits until it has stopped (60 s at most). Can be
   * called again.
   * @throws EmbeddedPostgresError `stop-failed`
   */
  readonly close: () => Promise<void>;
}

/**
 * Opens the cluster of a data directory, with the application's database in it. Creates what is missing, joins a
 * running Postgres or starts one, and restarts it whenever it ends before `close`. `signal` ends the wait for it.
 * @throws EmbeddedPostgresError any kind except `stop-failed`, and the reason of `signal`
 */
export async function openCluster(options: {
  dataDirectory: string;
  onEvent?: (event: EmbeddedPostgresEvent) => void;
  signal?: AbortSignal;
}): Promise<OpenCluster> {
  const { signal, onEvent = () => {} } = options;
  const cluster = await prepareCluster(options.dataDirectory);
  const membership = await joinCluster(cluster, { signal, onStarting: () => onEvent({ kind: "starting" }) });
  try {
    signal?.throwIfAborted();
    await membership.presence.createDatabase(cluster.superuser.database);
  } catch (error) {
    await leaveCluster(cluster, membership);
    throw error;
  }
  const { home, reason } = cluster.location;
  const supervision = superviseCluster({ cluster, membership, onEvent });
  let closed: Promise<void> | undefined;
  return {
    superuser: cluster.superuser,
    location: { directory: home, ...(reason !== undefined && { reason }) },
    copiedBinaries: cluster.binaries.copy,
    kind: membership.server ? "started" : "found",
    close() {
      closed ??= supervision.end().then((last) => last && leaveCluster(cluster, last));
      return closed;
    },
  };
}

async function prepareCluster(dataDirectory: string): Promise<Cluster> {
  const directory = await createDataDirectory(dataDirectory);
  let location = await findClusterLocation(directory);
  const binaries = await getBinaries(location.account);
  await removeStaleClusters(location.home);
  if (!(await hasCluster(location.cluster))) {
    await createCluster(location, binaries);
    // Looks again, because another process may have been faster, and may use another account if useradd ran in both at
    // the same time.
    location = await findClusterLocation(directory);
  }
  await requireVersion(location.cluster);
  return { location, binaries, superuser: await readSuperuserConnection(location.cluster) };
}

async function leaveCluster(cluster: Cluster, { presence, server }: Membership): Promise<void> {
  // Postgres may end at this moment. Then there is nothing to leave or stop.
  const isLast = await presence.leave().catch(() => false);
  if (!isLast)
    return await settlesWithin(
      5000,
      presence.end().catch(() => {}),
    );
  await stopServer(cluster.location);
  await settlesWithin(
    5000,
    Promise.all([presence.ended, server?.exited]).then(() => {}),
  );
}
