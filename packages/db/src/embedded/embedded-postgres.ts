import type { ClusterConnection } from "./cluster-connection.ts";
import { hasClusterPlace } from "./cluster-place.ts";
import { prepareLoginRole } from "./login-role.ts";
import { type OpenCluster, openCluster } from "./open-cluster.ts";
import type { EmbeddedPostgresEvent } from "./supervise-cluster.ts";

export type { EmbeddedPostgresEvent };

/** The product's Postgres, and this process's part in it. The superuser's credentials stay behind this interface. */
export interface EmbeddedPostgres extends Omit<OpenCluster, "superuser"> {
  /** What pg's `Client` and `Pool` need: a role that owns the database and is no superuser. Constant over restarts of Postgres. */
  readonly connection: ClusterConnection;
}

/**
 * Opens the Postgres of a data directory, as `openCluster` does, for a role that owns the application's database.
 * @throws EmbeddedPostgresError each of its kinds but `stop-failed`
 */
export async function openEmbeddedPostgres(
  options: Parameters<typeof openCluster>[0],
): Promise<EmbeddedPostgres> {
  const { superuser, ...cluster } = await openCluster(options);
  try {
    return { ...cluster, connection: await prepareLoginRole(superuser) };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/**
 * Whether a data directory has a cluster, in it or where it says that the cluster is. Creates nothing.
 * @throws the system's error when the data directory can't be read.
 */
export async function hasEmbeddedPostgres(dataDirectory: string): Promise<boolean> {
  return await hasClusterPlace(dataDirectory);
}
