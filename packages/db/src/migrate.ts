import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import { migrations } from "./migrations.ts";

/** The database was migrated by a newer Latchkey than this one. */
export class SchemaTooNewError extends Error {
  override readonly name = "SchemaTooNewError";
  /** The migration that this code does not know. */
  readonly migration: string;

  constructor(migration: string) {
    super(
      `The database needs a newer Latchkey: it has the migration "${migration}", unknown to this version.`,
    );
    this.migration = migration;
  }
}

/** How long a migration waits for a table that others use, in milliseconds, before it steps back and tries again. */
const lockTimeoutMs = 2_000;
/** How often it tries before it gives up. A node that waits for another's migration waits longer at each try. */
const attempts = 20;

/**
 * Brings the schema up to date, or up to the migration named. Two nodes may do it at once: one waits for the other.
 *
 * @returns the names of the migrations that this call applied, in order.
 * @throws {SchemaTooNewError} when the database has a migration that this code does not know.
 */
export async function migrate(connection: DatabaseConnection, upTo?: string): Promise<string[]> {
  const db = openDatabase(connection, {
    applicationName: "latchkey migrate",
    maxConnections: 1,
    statementTimeoutMs: 600_000,
    lockTimeoutMs,
  });
  try {
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => ({ ...migrations }) },
      migrationTableName: "migrations",
      migrationLockTableName: "migrations_lock",
    });
    for (let attempt = 1; ; attempt += 1) {
      await refuseNewerSchema(db);
      const { error, results = [] } = await (upTo ? migrator.migrateTo(upTo) : migrator.migrateToLatest());
      if (!error) return results.map((result) => result.migrationName);
      if (!isLockTimeout(error) || attempt === attempts) throw error;
      await delay(250);
    }
  } finally {
    await db.destroy();
  }
}

async function refuseNewerSchema(db: ReturnType<typeof openDatabase>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from migrations order by name desc`
    .execute(db)
    .catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === "42P01") return { rows: [] };
      throw error;
    });
  const unknown = rows.find(({ name }) => !(name in migrations));
  if (unknown) throw new SchemaTooNewError(unknown.name);
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "55P03";
}
