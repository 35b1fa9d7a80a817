import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { isDatabaseNotUp } from "@latchkey/db/database-failure";
import { RolesMissingError, requireRoles } from "@latchkey/db/database-roles";
import {
  type EmbeddedPostgresEvent,
  hasEmbeddedPostgres,
  openEmbeddedPostgres,
} from "@latchkey/db/embedded-postgres";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import { type MigrationNotice, migrate, SchemaMissingError } from "@latchkey/db/migrate";
import { migrations } from "@latchkey/db/migrations";
import { readServerVersion } from "@latchkey/db/server-version";
import { requireTenantIsolation, TenantIsolationError } from "@latchkey/db/tenant-isolation";
import { UnsuitableDatabaseError } from "@latchkey/db/unsuitable-database-error";
import type { Env } from "./env.ts";
import { NoInstanceError, StartError } from "./start-error.ts";
import { waitForDatabase } from "./wait-for-database.ts";

/** The database that a process works on, ready to be used. */
export interface Ground {
  readonly connection: DatabaseConnection;
  /** Where the embedded Postgres lives, if it is not where one would look, and why. */
  readonly unusualLocation: string | undefined;
  /** The migrations that were applied just now. */
  readonly applied: readonly string[];
  /** What the operator should know of the schema, a sentence each. */
  readonly notices: readonly string[];
  /** Where this process has just created the database; undefined if the database existed. */
  readonly createdIn: string | undefined;
  /** Leaves the database; who leaves an embedded one last stops it. */
  readonly close: () => Promise<void>;
}

const oldestServerVersion = 15;

export interface GroundOptions {
  /** Whether to create the database where there is none. */
  readonly mayCreate: boolean;
  readonly onEvent?: (event: EmbeddedPostgresEvent) => void;
  /** How long to wait for a Postgres that is not up yet, in milliseconds; it must be up already by default. */
  readonly waitMs?: number;
  /** Called with a sentence when it waits for a Postgres. */
  readonly onWait?: (message: string) => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/**
 * Reaches or starts the database and brings its schema up to date.
 * @throws {StartError}
 * @throws {NoInstanceError} when there is no database and `mayCreate` is false; nothing was created then.
 */
export async function openGround(
  env: Pick<Env, "databaseUrl" | "dataDirectory">,
  options: GroundOptions,
): Promise<Ground> {
  const server = env.databaseUrl
    ? await reachServer(env.databaseUrl, options)
    : await openEmbedded(env.dataDirectory, options);
  try {
    const notices: string[] = [];
    const onNotice = (notice: MigrationNotice): void => void notices.push(describeNotice(notice));
    const applied = await migrate(server.connection, { mayCreate: options.mayCreate, onNotice });
    await requireRoles(server.connection);
    await requireTenantIsolation(server.connection);
    const isNew = applied[0] === Object.keys(migrations)[0];
    return { ...server, applied, notices, createdIn: isNew ? describePlace(env) : undefined };
  } catch (error) {
    await server.close();
    throw error instanceof SchemaMissingError ? noInstanceIn(env) : explainMigration(error);
  }
}

type Server = Omit<Ground, "applied" | "notices" | "createdIn">;

async function openEmbedded(
  dataDirectory: string,
  { mayCreate, onEvent = () => undefined }: GroundOptions,
): Promise<Server> {
  try {
    if (!mayCreate && !(await hasEmbeddedPostgres(dataDirectory))) throw noInstanceIn({ dataDirectory });
    const { connection, location, close } = await openEmbeddedPostgres({ dataDirectory, onEvent });
    const unusualLocation =
      location.reason && `Its database lives in ${location.directory}: ${location.reason}.`;
    return { connection, unusualLocation, close };
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw new StartError(error.message, { cause: error });
    if (isSystemError(error)) {
      throw new StartError(`The embedded Postgres cannot be set up: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

async function reachServer(databaseUrl: string, options: GroundOptions): Promise<Server> {
  const connection = { connectionString: databaseUrl };
  const db = openDatabase(connection, {
    applicationName: "latchkey start",
    role: "login",
    maxConnections: 1,
  });
  try {
    const { waitMs = 0, onWait = () => undefined, signal } = options;
    const version = await waitForDatabase(() => readServerVersion(db), {
      waitMs,
      onWait: (error) =>
        onWait(
          `The Postgres of DATABASE_URL (${withoutPassword(databaseUrl)}) is not up yet: ${reasonOf(error)}. Waiting for up to ${waitMs / 1_000} s.`,
        ),
      ...(signal ? { signal } : {}),
    });
    if (version < oldestServerVersion) {
      throw new StartError(
        `DATABASE_URL leads to a Postgres ${version}; Latchkey needs ${oldestServerVersion} or newer.`,
      );
    }
  } catch (error) {
    if (error instanceof StartError || options.signal?.aborted) throw error;
    const waited =
      options.waitMs && isDatabaseNotUp(error) ? ` (after waiting for ${options.waitMs / 1_000} s)` : "";
    throw new StartError(
      `The Postgres of DATABASE_URL (${withoutPassword(databaseUrl)}) cannot be used: ${reasonOf(error)}${waited}.`,
      { cause: error },
    );
  } finally {
    await db.destroy();
  }
  return { connection, unusualLocation: undefined, close: async () => undefined };
}

type Place = Partial<Pick<Env, "databaseUrl">> & Pick<Env, "dataDirectory">;

function describePlace({ databaseUrl, dataDirectory }: Place): string {
  return databaseUrl ? withoutPassword(databaseUrl) : dataDirectory;
}

function noInstanceIn(env: Place): NoInstanceError {
  const variable = env.databaseUrl ? "DATABASE_URL" : "DATA_DIR";
  return new NoInstanceError(
    `There is no Latchkey database in ${describePlace(env)}. Set ${variable} to an existing one, or create it with \`latchkey migrate\`.`,
  );
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function describeNotice({ kind, migrations }: MigrationNotice): string {
  const names = migrations.join(", ");
  return kind === "newer"
    ? `A newer version of Latchkey has migrated the schema, and this version can run on it (${names}).`
    : `The source of released migrations has changed since the database ran them, so that its schema may differ from what this version expects (${names}).`;
}

function explainMigration(error: unknown): unknown {
  const isKnown = [UnsuitableDatabaseError, RolesMissingError, TenantIsolationError].some(
    (kind) => error instanceof kind,
  );
  if (error instanceof Error && isKnown) return new StartError(error.message, { cause: error });
  if (error instanceof Error && ("severity" in error || isSystemError(error))) {
    return new StartError(`The database cannot be brought up to date: ${reasonOf(error)}.`, { cause: error });
  }
  return error;
}

/** A failure of the operating system's, such as EACCES; its message names the path. */
function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
}

/** What went wrong, in words; a name with several addresses fails with several errors and no message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
