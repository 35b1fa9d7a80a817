import { RolesMissingError, requireRoles } from "@latchkey/db/database-roles";
import { type MigrationWarning, migrate, SchemaMissingError } from "@latchkey/db/migrate";
import { migrations } from "@latchkey/db/migrations";
import { describeOtherUsers } from "@latchkey/db/other-database-users";
import { requireTenantIsolation } from "@latchkey/db/tenant-isolation";
import { TenantIsolationError } from "@latchkey/db/tenant-isolation-error";
import { UnsuitableDatabaseError } from "@latchkey/db/unsuitable-database-error";
import {
  createNoInstanceError,
  type DatabaseLocation,
  type DatabaseServer,
  describeDatabaseFailure,
  describeLocation,
  openServer,
  reasonOf,
  type ServerOptions,
} from "./database-server.ts";
import { StartError } from "./start-error.ts";
import { isSystemError } from "./system-error.ts";

/** The database that a process works on, ready to be used. */
export interface PreparedDatabase extends DatabaseServer {
  /** The migrations that this call applied. */
  readonly applied: readonly string[];
  /** What this call repaired, as parts of sentences. */
  readonly repaired: readonly string[];
  /** Warnings about the database for the operator, one sentence each. */
  readonly warnings: readonly string[];
  /** The location of the database if this call created it; undefined if it existed. */
  readonly createdIn: string | undefined;
}

export interface PrepareDatabaseOptions extends ServerOptions {
  /** Whether to repair the isolation of tenants; false by default. */
  readonly canRepair?: boolean;
}

/**
 * Connects to the database, or starts the embedded one, and brings its schema up to date.
 * @throws {StartError}
 * @throws {NoInstanceError} if there is no database and `canCreate` is false. Nothing is created then.
 */
export async function prepareDatabase(
  env: DatabaseLocation,
  options: PrepareDatabaseOptions,
): Promise<PreparedDatabase> {
  const server = await openServer(env, options);
  const warnings: string[] = [];
  try {
    options.signal?.throwIfAborted();
    let isNewer = false;
    const onWarning = (warning: MigrationWarning): void => {
      warnings.push(describeMigrationWarning(warning));
      isNewer ||= warning.kind === "newer";
    };
    const applied = await migrate(server.connection, { canCreate: options.canCreate, onWarning });
    await requireRoles(server.connection);
    const { canRepair = false } = options;
    const { additions, repaired } = await requireTenantIsolation(server.connection, { isNewer, canRepair });
    if (additions.length > 0) warnings.push(describeAdditions(additions));
    const otherUsers = await describeOtherUsers(server.connection);
    if (otherUsers !== undefined) warnings.push(otherUsers);
    const isNew = applied[0] === Object.keys(migrations)[0];
    return { ...server, applied, repaired, warnings, createdIn: isNew ? describeLocation(env) : undefined };
  } catch (error) {
    await server.close();
    throw error instanceof SchemaMissingError
      ? createNoInstanceError(env)
      : explainMigration(error, warnings);
  }
}

/** A warning about migrations as a sentence. */
export function describeMigrationWarning({ kind, migrations }: MigrationWarning): string {
  const names = migrations.join(", ");
  if (kind === "incomplete") return `These migrations were applied before the failure: ${names}.`;
  return kind === "newer"
    ? `A newer version of Latchkey has migrated the schema, and this version can run on it (${names}).`
    : `The source of released migrations has changed since the database ran them, so that its schema may differ from what this version expects (${names}).`;
}

function describeAdditions(additions: readonly string[]): string {
  return `The policies, grants and functions that isolate tenants differ from those of this version. If the newer version didn't change them, repair them: ${additions.join("; ")}.`;
}

/**
 * Runs work on a database. Converts the errors of a database that Latchkey can't use, and failures of the database, to a
 * `StartError`.
 */
export async function withStartErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const failure = describeDatabaseFailure(error);
    throw toStartError(error) ?? (failure === undefined ? error : new StartError(failure, { cause: error }));
  }
}

function toStartError(error: unknown): StartError | undefined {
  const kinds = [UnsuitableDatabaseError, RolesMissingError, TenantIsolationError];
  const isKnown = kinds.some((kind) => error instanceof kind);
  return error instanceof Error && isKnown ? new StartError(error.message, { cause: error }) : undefined;
}

/** @param warnings what else the operator should know, as sentences. */
function explainMigration(error: unknown, warnings: readonly string[]): unknown {
  const reason = toStartError(error)?.message ?? describeMigrationFailure(error);
  return reason === undefined ? error : new StartError([reason, ...warnings].join(" "), { cause: error });
}

function describeMigrationFailure(error: unknown): string | undefined {
  if (error instanceof Error && ("severity" in error || isSystemError(error)))
    return `The database cannot be brought up to date: ${reasonOf(error)}.`;
  return describeDatabaseFailure(error);
}
