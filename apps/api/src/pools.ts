import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";

/** What one side of the product, the open API or the web app, reaches the database by. */
export interface Pools {
  /** For changes. */
  readonly db: Db;
  /** For reads alone: a statement is cancelled after a second, and no statement can change anything. */
  readonly readDb: Db;
  /** As many reads run at a time as `readDb` has connections: no read waits inside the pool, where users do not alternate. */
  readonly readConnections: number;
}

export interface PoolSizes {
  readonly changeConnections: number;
  readonly readConnections: number;
}

/** Longer than any read takes within the quotas. */
const readTimeoutMs = 1_000;

/** @param applicationName shown in `pg_stat_activity`, with " reads" behind it for the second pool. */
export function openPools(
  connection: DatabaseConnection,
  applicationName: string,
  { changeConnections, readConnections }: PoolSizes,
): Pools {
  return {
    readConnections,
    db: openDatabase(connection, { applicationName, maxConnections: changeConnections }),
    readDb: openDatabase(connection, {
      applicationName: `${applicationName} reads`,
      maxConnections: readConnections,
      statementTimeoutMs: readTimeoutMs,
      isReadOnly: true,
    }),
  };
}
