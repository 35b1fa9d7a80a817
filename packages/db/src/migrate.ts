import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import { RolesMissingError } from "./database-roles.ts";
import {
  addToHistory,
  compareHistory,
  completeHistory,
  createHistory,
  readHistory,
} from "./migration-history.ts";
import { type Migrations, migrations } from "./migrations.ts";
import type { Db } from "./schema.ts";
import { isLockTimeout, isRoleRefusal } from "./sqlstate.ts";
import { UnsuitableDatabaseError } from "./unsuitable-database-error.ts";

/**
 * How long a migration waits for a table that others use, in milliseconds, before it steps back and tries again. Whoever
 * comes to the table meanwhile queues behind it, admission too, whose statement waits 100 ms for a lock, twice at most.
 */
const lockTimeoutMs = 100;
/** How long it leaves the table to others before it tries again, in milliseconds. */
const stepBackMs = 250;
/** How often it tries before it gives up: some 45 s, in which another node's migration may be done too. */
const attempts = 130;
/** Held while migrations run. Kysely's migrator, which version 0.1 used, takes the same one. */
const migrationLock = "3853314791062309107";
/** Bounds each statement, and the wait for another node's migrations, in milliseconds. */
const statementTimeoutMs = 600_000;

/** No migration of Latchkey's has been applied to the database, and this call may not apply the first one. */
export class SchemaMissingError extends Error {
  override readonly name = "SchemaMissingError";
}

/** Something about the database's migrations that its operator should know of, and that keeps nobody from working. */
export interface MigrationNotice {
  /** `newer`: a newer version ran these, and this one can run on their schema. `changed`: their source has changed since. */
  readonly kind: "newer" | "changed";
  readonly migrations: readonly string[];
}

export interface MigrateOptions {
  /** The last migration to run; the newest by default. */
  readonly upTo?: string;
  /** The migrations that there are: this version's by default. */
  readonly known?: Migrations;
  /** Whether the first migration may be applied; true by default. */
  readonly mayCreate?: boolean;
  readonly onNotice?: (notice: MigrationNotice) => void;
}

/**
 * Brings the schema up to date, or up to the migration named. Two nodes may do it concurrently: one waits for the other.
 *
 * @returns the names of the migrations that this call applied, in order.
 * @throws {SchemaMissingError} without `mayCreate`, when the database has no migration.
 * @throws {RolesMissingError} when the login may not create the roles that keep tenants apart.
 * @throws {UnsuitableDatabaseError} when the database is another application's, or needs another version of Latchkey.
 */
export async function migrate(
  connection: DatabaseConnection,
  options: MigrateOptions = {},
): Promise<string[]> {
  const { upTo, known = migrations, mayCreate = true, onNotice = () => undefined } = options;
  const db = openDatabase(connection, {
    applicationName: "latchkey migrate",
    role: "login",
    maxConnections: 1,
    statementTimeoutMs,
    lockTimeoutMs,
  });
  try {
    const schema = await requireSchema(db);
    const applied = await retryLockTimeouts(() => applyPending(db, { schema, known, upTo, mayCreate }));
    const { newer, changed } = await retryLockTimeouts(async () => {
      await completeHistory(db, schema, known);
      return await compareHistory(await readHistory(db, schema), known);
    });
    if (newer.length > 0) onNotice({ kind: "newer", migrations: newer });
    if (changed.length > 0) onNotice({ kind: "changed", migrations: changed });
    return applied;
  } catch (error) {
    if (isRoleRefusal(error) && /create role|to role/.test(String(error)))
      throw new RolesMissingError(await readLogin(db), { cause: error });
    throw error;
  } finally {
    await db.destroy();
  }
}

/** How a version's migrations meet a database. */
interface Plan {
  readonly schema: string;
  readonly known: Migrations;
  readonly upTo: string | undefined;
  readonly mayCreate: boolean;
}

/** Applies what is pending, and records it with what older versions must know of it, in one transaction. */
async function applyPending(db: Db, plan: Plan): Promise<string[]> {
  const history = await readHistory(db, plan.schema);
  const { pending } = await compareHistory(history, plan.known);
  if (history.length === 0 && !plan.mayCreate) throw new SchemaMissingError();
  if (!pending.some((name) => isUpTo(plan, name))) return [];
  return await db.connection().execute(async (connection) => {
    await sql`
      with waiting as (select set_config('lock_timeout', '0', true))
      select pg_advisory_lock(${migrationLock}) from waiting`.execute(connection);
    try {
      return await connection.transaction().execute((trx) => applyLocked(trx, plan));
    } finally {
      // A connection that broke has let go of it.
      await sql`select pg_advisory_unlock(${migrationLock})`.execute(connection).catch(() => undefined);
    }
  });
}

async function applyLocked(trx: Db, plan: Plan): Promise<string[]> {
  const { schema, known } = plan;
  const history = await readHistory(trx, schema);
  const { pending } = await compareHistory(history, known);
  await createHistory(trx, schema);
  const applied = pending.filter((name) => isUpTo(plan, name));
  for (const name of applied) {
    await known[name]?.up(trx);
    await addToHistory(trx, schema, name);
  }
  await completeHistory(trx, schema, known);
  return applied;
}

function isUpTo({ upTo }: Plan, name: string): boolean {
  return upTo === undefined || name <= upTo;
}

/** Tries again where another transaction, which may be another node's migration, holds a table for too long. */
async function retryLockTimeouts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error) || attempt === attempts) throw error;
    }
    await delay(stepBackMs);
  }
}

/**
 * The schema that Latchkey's tables are in.
 * @throws {UnsuitableDatabaseError} when `"$user"` in the search path leads the login elsewhere than the roles it assumes.
 */
async function requireSchema(db: Db): Promise<string> {
  const { rows } = await sql<{ schema: string | null; login: string; database: string; path: string }>`
    select current_schema()::text as schema, session_user::text as login, current_database()::text as database,
      current_setting('search_path') as path`.execute(db);
  const { schema = null, login = "", database = "", path = "" } = rows[0] ?? {};
  const entries = path.split(",").map((entry) => entry.trim().replace(/^"(.*)"$/, "$1"));
  if (schema === login && !entries.includes(login)) {
    const [user, place] = [login, database].map((name) => pg.escapeIdentifier(name));
    throw new UnsuitableDatabaseError(
      "schema-named-like-login",
      `The database has a schema with the name of its user "${login}", in which this user would find other tables than the ` +
        `roles that keep tenants apart; rename the schema, or run: alter role ${user} in database ${place} set search_path = public;`,
    );
  }
  return schema ?? "public";
}

async function readLogin(db: Db): Promise<string> {
  const { rows } = await sql<{ login: string }>`select session_user::text as login`.execute(db);
  return rows[0]?.login ?? "";
}
