import type { ClusterConnection } from "./cluster-connection.ts";
import { hasClusterLocation } from "./cluster-location.ts";
import { prepareLoginRole } from "./login-role.ts";
import { type OpenCluster, openCluster } from "./open-cluster.ts";
import type { EmbeddedPostgresEvent } from "./supervise-cluster.ts";

export type { EmbeddedPostgresEvent };

/** The embedded Postgres as this process uses it. Does not expose the superuser's credentials. */
export interface EmbeddedPostgres extends Omit<OpenCluster, "superuser"> {
  /**
   * The options for pg's `Client` and `Pool`: a role that owns the database and is not a superuser. They stay the same
   * when Postgres restarts.
   */
  readonly connection: ClusterConnection;
}

/**
 * Opens the Postgres of a data directory, like `openCluster`, with a role that owns the application's database.
 * @throws EmbeddedPostgresError any kind except `stop-failed`, and the reason of `signal`
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
 * Whether a data directory contains a cluster, or a record of one. Creates nothing.
 * @throws the system's error if the data directory can't be read.
 */
export async function hasEmbeddedPostgres(dataDirectory: string): Promise<boolean> {
  return await hasClusterLocation(dataDirectory);
}
