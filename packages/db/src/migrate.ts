import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import { RolesMissingError } from "./database-roles.ts";
import { migrations } from "./migrations.ts";
import { isLockTimeout, isRoleRefusal, isUndefinedTable } from "./sqlstate.ts";

/** Migrations by name, in their order. */
export type Migrations = Readonly<Record<string, Migration>>;

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

/**
 * How long a migration waits for a table that others use, in milliseconds, before it steps back and tries again. Whoever
 * comes to the table meanwhile queues behind it, admission too, whose statement waits 100 ms for a lock, twice at most.
 */
const lockTimeoutMs = 100;
/** How long it leaves the table to others before it tries again, in milliseconds. */
const stepBackMs = 250;
/** How often it tries before it gives up: some 45 s, in which another node's migration may be done too. */
const attempts = 130;

/**
 * Brings the schema up to date, or up to the migration named. Two nodes may do it at once: one waits for the other.
 *
 * @param options `known` are the migrations that there are: this version's, unless told.
 * @returns the names of the migrations that this call applied, in order.
 * @throws {RolesMissingError} when whoever signs in may not make the roles that keep tenants apart.
 * @throws {SchemaTooNewError} when the database has a migration that this code does not know.
 */
export async function migrate(
  connection: DatabaseConnection,
  options: { readonly upTo?: string; readonly known?: Migrations } = {},
): Promise<string[]> {
  const { upTo, known = migrations } = options;
  const db = openDatabase(connection, {
    applicationName: "latchkey migrate",
    role: "login",
    maxConnections: 1,
    statementTimeoutMs: 600_000,
    lockTimeoutMs,
  });
  try {
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => ({ ...known }) },
      migrationTableName: "migrations",
      migrationLockTableName: "migrations_lock",
    });
    for (let attempt = 1; ; attempt += 1) {
      await refuseNewerSchema(db, known);
      const { error, results = [] } = await (upTo ? migrator.migrateTo(upTo) : migrator.migrateToLatest());
      if (!error) return results.map((result) => result.migrationName);
      if (isRoleRefusal(error) && /create role|to role/.test(String(error)))
        throw new RolesMissingError(await readLogin(db), { cause: error });
      if (!isLockTimeout(error) || attempt === attempts) throw error;
      await delay(stepBackMs);
    }
  } finally {
    await db.destroy();
  }
}

async function refuseNewerSchema(db: ReturnType<typeof openDatabase>, known: Migrations): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from migrations order by name desc`
    .execute(db)
    .catch((error: unknown) => {
      if (isUndefinedTable(error)) return { rows: [] };
      throw error;
    });
  const unknown = rows.find(({ name }) => !(name in known));
  if (unknown) throw new SchemaTooNewError(unknown.name);
}

async function readLogin(db: ReturnType<typeof openDatabase>): Promise<string> {
  const { rows } = await sql<{ login: string }>`select session_user::text as login`.execute(db);
  return rows[0]?.login ?? "";
}
