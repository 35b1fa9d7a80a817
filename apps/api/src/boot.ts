import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { RolesMissingError, requireRoles } from "@latchkey/db/database-roles";
import { type EmbeddedPostgresEvent, openEmbeddedPostgres } from "@latchkey/db/embedded-postgres";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import { type MigrationNotice, migrate } from "@latchkey/db/migrate";
import { readServerVersion } from "@latchkey/db/server-version";
import { UnsuitableDatabaseError } from "@latchkey/db/unsuitable-database-error";
import type { Env } from "./env.ts";
import { StartError } from "./start-error.ts";

/** The database that a process works on, ready to be used. */
export interface Ground {
  readonly connection: DatabaseConnection;
  /** Where the embedded Postgres lives, if it is not where one would look, and why. */
  readonly unusualLocation: string | undefined;
  /** The migrations that were applied just now. */
  readonly applied: readonly string[];
  /** What the operator should know of the schema, a sentence each. */
  readonly notices: readonly string[];
  /** Leaves the database; who leaves an embedded one last stops it. */
  readonly close: () => Promise<void>;
}

const oldestServerVersion = 15;

/**
 * Reaches or starts the database and brings its schema up to date.
 * @throws {StartError}
 */
export async function openGround(
  env: Pick<Env, "databaseUrl" | "dataDirectory">,
  onEvent: (event: EmbeddedPostgresEvent) => void = () => undefined,
): Promise<Ground> {
  const server = env.databaseUrl
    ? await reachServer(env.databaseUrl)
    : await openEmbedded(env.dataDirectory, onEvent);
  try {
    const notices: string[] = [];
    const onNotice = (notice: MigrationNotice): void => void notices.push(describeNotice(notice));
    const applied = await migrate(server.connection, { onNotice });
    await requireRoles(server.connection);
    return { ...server, applied, notices };
  } catch (error) {
    await server.close();
    throw explainMigration(error);
  }
}

type Server = Omit<Ground, "applied" | "notices">;

async function openEmbedded(
  dataDirectory: string,
  onEvent: (event: EmbeddedPostgresEvent) => void,
): Promise<Server> {
  try {
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

async function reachServer(databaseUrl: string): Promise<Server> {
  const connection = { connectionString: databaseUrl };
  const db = openDatabase(connection, {
    applicationName: "latchkey start",
    role: "login",
    maxConnections: 1,
  });
  try {
    const version = await readServerVersion(db);
    if (version < oldestServerVersion) {
      throw new StartError(
        `DATABASE_URL leads to a Postgres ${version}; Latchkey needs ${oldestServerVersion} or newer.`,
      );
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(
      `The Postgres of DATABASE_URL (${withoutPassword(databaseUrl)}) cannot be used: ${reasonOf(error)}.`,
      {
        cause: error,
      },
    );
  } finally {
    await db.destroy();
  }
  return { connection, unusualLocation: undefined, close: async () => undefined };
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
  if (error instanceof UnsuitableDatabaseError || error instanceof RolesMissingError)
    return new StartError(error.message, { cause: error });
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
