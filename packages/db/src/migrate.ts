import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import { RolesMissingError } from "./database-roles.ts";
import { findSchema } from "./find-schema.ts";
import { migrateJobs } from "./jobs/job-schema.ts";
import {
  addToHistory,
  compareHistory,
  completeHistory,
  createHistory,
  readHistory,
} from "./migration-history.ts";
import { type Migrations, migrations } from "./migrations.ts";
import type { Db } from "./schema.ts";
import { isLockTimeout, isMissingRoleOrPrivilege } from "./sqlstate.ts";

/**
 * How long a migration waits for the lock of a table, in milliseconds, before it pauses and tries again. While it
 * waits, every other statement on the table queues behind it, including those of admission, which wait 100 ms for a
 * lock, twice at most.
 */
const lockTimeoutMs = 100;
/**
 * The timeout of every {@link patientEvery}th attempt while Postgres vacuums or analyzes a table of the database, in milliseconds.
 * Autovacuum ends its work on a table for a statement that has waited for `deadlock_timeout`, 1 s by default.
 */
const patientLockTimeoutMs = 1_200;
const patientEvery = 20;
/** The pause before the next attempt, in which other transactions can use the table, in milliseconds. */
const pauseMs = 250;
/** The most attempts: 45 s with the shorter timeout, and 52 s with the longer one, in which another node may also finish the migrations. */
const maxAttempts = 130;
/**
 * The advisory lock that is held while migrations run. Kysely's migrator, which version 0.1 used, takes the same lock.
 */
const migrationLock = "3853314791062309107";
/** Limits each statement, and the wait for another node's migrations, in milliseconds. */
const statementTimeoutMs = 600_000;

/** The database has no migration of Latchkey, and this call may not apply the first one. */
export class SchemaMissingError extends Error {
  override readonly name = "SchemaMissingError";
}

/** A warning for the operator about the database's migrations. */
export interface MigrationWarning {
  /**
   * `newer`: a newer version applied these, and this version can run on their schema. `changed`: their source has
   * changed since. `incomplete`: this call applied these, and then failed.
   */
  readonly kind: "newer" | "changed" | "incomplete";
  readonly migrations: readonly string[];
}

export interface MigrateOptions {
  /** The last migration to apply; the newest by default. */
  readonly upTo?: string;
  /** All known migrations; this version's by default. */
  readonly known?: Migrations;
  /** Whether the first migration may be applied; true by default. */
  readonly canCreate?: boolean;
  readonly onWarning?: (warning: MigrationWarning) => void;
}

/**
 * Migrates the schema to the newest migration, or to `upTo`. Nodes may do this concurrently: one waits for the other.
 *
 * @returns the names of the migrations that this call applied, in order.
 * @throws {SchemaMissingError} if the database has no migration and `canCreate` is false.
 * @throws {RolesMissingError} if the login may not create the roles that isolate tenants.
 * @throws {UnsuitableDatabaseError} if the database belongs to another application, or needs another version of
 *   Latchkey.
 */
export async function migrate(
  connection: DatabaseConnection,
  options: MigrateOptions = {},
): Promise<string[]> {
  const { upTo, known = migrations, canCreate = true, onWarning = () => undefined } = options;
  const db = openDatabase(connection, {
    applicationName: "latchkey migrate",
    role: "login",
    maxConnections: 1,
    statementTimeoutMs,
    lockTimeoutMs,
  });
  const applied: string[] = [];
  try {
    const schema = (await findSchema(db)) ?? "public";
    await retryLockTimeouts((attempt) => {
      const isPatient = attempt % patientEvery === 0;
      return applyPending(db, { schema, known, upTo, canCreate, isPatient }, applied);
    });
    await migrateJobs(db, connection, statementTimeoutMs);
    const { newer, changed } = await retryLockTimeouts(async () => {
      await completeHistory(db, schema, known);
      return await compareHistory(await readHistory(db, schema), known);
    });
    if (newer.length > 0) onWarning({ kind: "newer", migrations: newer });
    if (changed.length > 0) onWarning({ kind: "changed", migrations: changed });
    return applied;
  } catch (error) {
    if (applied.length > 0) onWarning({ kind: "incomplete", migrations: applied });
    if (isMissingRoleOrPrivilege(error) && /create role|to role/.test(String(error)))
      throw new RolesMissingError(await readLogin(db), { cause: error });
    throw error;
  } finally {
    await db.destroy();
  }
}

/** The migrations to apply to a database. */
interface Plan {
  readonly schema: string;
  readonly known: Migrations;
  readonly upTo: string | undefined;
  readonly canCreate: boolean;
  readonly isPatient: boolean;
}

/**
 * Applies pending migrations and records them, with the versions that each is compatible with. All run in one transaction, except
 * that each with `startsTransaction` begins another one.
 * @param applied the names of the migrations are added to it when they are committed.
 */
async function applyPending(db: Db, plan: Plan, applied: string[]): Promise<void> {
  const history = await readHistory(db, plan.schema);
  const { pending } = await compareHistory(history, plan.known);
  if (history.length === 0 && !plan.canCreate) throw new SchemaMissingError();
  if (!pending.some((name) => isWithinTarget(plan, name))) return;
  await db.connection().execute(async (connection) => {
    await sql`
      with waiting as (select set_config('lock_timeout', '0', true))
      select pg_advisory_lock(${migrationLock}) from waiting`.execute(connection);
    try {
      for (let hasMore = true; hasMore; ) {
        const batch = await connection.transaction().execute((trx) => applyBatch(trx, plan));
        applied.push(...batch.names);
        hasMore = batch.hasMore;
      }
    } finally {
      // If the connection broke, Postgres has released the lock.
      await sql`select pg_advisory_unlock(${migrationLock})`.execute(connection).catch(() => undefined);
    }
  });
}

/** Applies pending migrations up to the next one that starts a transaction. */
async function applyBatch(
  trx: Db,
  plan: Plan,
): Promise<{ readonly names: readonly string[]; readonly hasMore: boolean }> {
  const { schema, known, isPatient } = plan;
  if (isPatient) {
    await sql`
      select set_config('lock_timeout', ${`${patientLockTimeoutMs}ms`}, true)
      where (select oid from pg_database where datname = current_database()) in (
        select datid from pg_stat_progress_vacuum union all select datid from pg_stat_progress_analyze
      )`.execute(trx);
  }
  const history = await readHistory(trx, schema);
  const { pending } = await compareHistory(history, known);
  await createHistory(trx, schema);
  const wanted = pending.filter((name) => isWithinTarget(plan, name));
  const next = wanted.findIndex((name, index) => index > 0 && known[name]?.startsTransaction);
  const names = next < 0 ? wanted : wanted.slice(0, next);
  for (const name of names) {
    await known[name]?.up(trx);
    await addToHistory(trx, schema, name);
  }
  await completeHistory(trx, schema, known);
  return { names, hasMore: names.length < wanted.length };
}

function isWithinTarget({ upTo }: Plan, name: string): boolean {
  return upTo === undefined || name <= upTo;
}

/** Retries while another transaction, such as another node's migration, locks a table for too long. */
async function retryLockTimeouts<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!isLockTimeout(error) || attempt === maxAttempts) throw error;
    }
    await delay(pauseMs);
  }
}

async function readLogin(db: Db): Promise<string> {
  const { rows } = await sql<{ login: string }>`select session_user::text as login`.execute(db);
  return rows[0]?.login ?? "";
}
