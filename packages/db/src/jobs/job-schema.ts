import { sql } from "kysely";
import pg from "pg";
import { clientConfig, type DatabaseConnection, statementTimeouts } from "../connection.ts";
import type { Db } from "../schema.ts";

/** The newest migration of the queue's schema in the version of graphile-worker that this package depends on. */
const newestMigration = 20;

/**
 * Brings the schema of the job queue up to date. Nodes may do this concurrently.
 * @param db a connection in the login role.
 * @param statementTimeoutMs limits each statement, in milliseconds.
 */
export async function migrateJobs(
  db: Db,
  connection: DatabaseConnection,
  statementTimeoutMs: number,
): Promise<void> {
  if ((await readNewestMigration(db)) >= newestMigration) return;
  // Loading the library takes longer than most commands.
  const { Logger, runMigrations } = await import("graphile-worker");
  const pool = new pg.Pool({
    ...clientConfig(connection, "latchkey migrate"),
    ...statementTimeouts(statementTimeoutMs),
    max: 1,
  });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    await runMigrations({ pgPool: pool, logger: new Logger(() => () => undefined) });
  } finally {
    await pool.end();
  }
}

/** Returns 0 if the schema doesn't exist. */
async function readNewestMigration(db: Db): Promise<number> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('graphile_worker.migrations') is not null as exists`.execute(db);
  if (!tables[0]?.exists) return 0;
  const { rows } = await sql<{ newest: number | null }>`
    select max(id) as newest from graphile_worker.migrations`.execute(db);
  return rows[0]?.newest ?? 0;
}
