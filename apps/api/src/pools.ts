import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";
import type { Deadlines } from "./deadlines.ts";

/** The connection pools of the open API, or of the web app. */
export interface Pools {
  /** For changes. */
  readonly db: Db;
  /** For reads only: statements are canceled after one second and can't change anything. */
  readonly readDb: Db;
  /**
   * The number of connections of `readDb`, and of concurrent reads: the pool's own queue doesn't alternate between
   * users.
   */
  readonly readConnections: number;
  /** The number of connections of `db`, which bounds concurrent changes in the same way. */
  readonly changeConnections: number;
}

export interface PoolSettings {
  readonly changeConnections: number;
  readonly readConnections: number;
  readonly deadlines: Pick<Deadlines, "changes" | "reads">;
}

/** @param applicationName shown in `pg_stat_activity`, with " reads" appended for the second pool. */
export function openPools(
  connection: DatabaseConnection,
  applicationName: string,
  { changeConnections, readConnections, deadlines }: PoolSettings,
): Pools {
  return {
    readConnections,
    changeConnections,
    db: openDatabase(connection, {
      applicationName,
      maxConnections: changeConnections,
      ...deadlines.changes,
      rejectsStandby: true,
    }),
    readDb: openDatabase(connection, {
      applicationName: `${applicationName} reads`,
      maxConnections: readConnections,
      ...deadlines.reads,
      isReadOnly: true,
      rejectsStandby: true,
    }),
  };
}

/**
 * Opens the connection on which operators read the data of all tenants. A search reads the names of all workspaces, and a
 * count of keys also reads keys that can't reach the workspace. The statement timeout of other reads therefore applies
 * here too.
 */
export function openInspection(
  connection: DatabaseConnection,
  applicationName: string,
  deadlines: Pick<Deadlines, "reads">,
): Db {
  return openDatabase(connection, {
    applicationName,
    role: "latchkey_admission",
    maxConnections: 1,
    ...deadlines.reads,
    isReadOnly: true,
    rejectsStandby: true,
  });
}
