import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { isDatabaseNotUp } from "@latchkey/db/database-failure";
import {
  type EmbeddedPostgresEvent,
  hasEmbeddedPostgres,
  openEmbeddedPostgres,
} from "@latchkey/db/embedded-postgres";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import { readServerVersion } from "@latchkey/db/server-version";
import type { Env } from "./env.ts";
import { NoInstanceError, StartError } from "./start-error.ts";
import { waitForDatabase } from "./wait-for-database.ts";

/** A Postgres that can be connected to, whatever its database contains. */
export interface DatabaseServer {
  readonly connection: DatabaseConnection;
  /** Whether it is the embedded Postgres, which this process is present on. */
  readonly isEmbedded: boolean;
  /** Where the embedded Postgres lives, if it is not where one would look, and why. */
  readonly unusualLocation: string | undefined;
  /** Leaves the database; who leaves an embedded one last stops it. */
  readonly close: () => Promise<void>;
}

export interface ServerOptions {
  /** Whether to create the embedded Postgres where there is none. */
  readonly mayCreate: boolean;
  readonly onEvent?: (event: EmbeddedPostgresEvent) => void;
  /** How long to wait for a Postgres that is not up yet, in milliseconds; it must be up already by default. */
  readonly waitMs?: number;
  /** Called with a sentence when it waits for a Postgres. */
  readonly onWait?: (message: string) => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

const oldestServerVersion = 15;

/** Where the database is, of the variables of the environment. */
export type Place = Partial<Pick<Env, "databaseUrl">> & Pick<Env, "dataDirectory">;

/**
 * Reaches the Postgres of `DATABASE_URL`, or starts the embedded one.
 * @throws {StartError}
 * @throws {NoInstanceError} when there is no embedded Postgres and `mayCreate` is false.
 */
export async function openServer(place: Place, options: ServerOptions): Promise<DatabaseServer> {
  return place.databaseUrl
    ? await reachServer(place.databaseUrl, options)
    : await openEmbedded(place.dataDirectory, options);
}

async function openEmbedded(
  dataDirectory: string,
  { mayCreate, onEvent = () => undefined }: ServerOptions,
): Promise<DatabaseServer> {
  try {
    if (!mayCreate && !(await hasEmbeddedPostgres(dataDirectory))) throw noInstanceIn({ dataDirectory });
    const { connection, location, close } = await openEmbeddedPostgres({ dataDirectory, onEvent });
    const unusualLocation =
      location.reason && `Its database lives in ${location.directory}: ${location.reason}.`;
    return { connection, isEmbedded: true, unusualLocation, close };
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw new StartError(error.message, { cause: error });
    if (isSystemError(error)) {
      throw new StartError(`The embedded Postgres cannot be set up: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

async function reachServer(databaseUrl: string, options: ServerOptions): Promise<DatabaseServer> {
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
  return { connection, isEmbedded: false, unusualLocation: undefined, close: async () => undefined };
}

/** The data directory, or the URL without its credentials. */
export function describePlace({ databaseUrl, dataDirectory }: Place): string {
  return databaseUrl ? withoutPassword(databaseUrl) : dataDirectory;
}

/** The error for a place without Latchkey's schema. */
export function noInstanceIn(env: Place): NoInstanceError {
  const variable = env.databaseUrl ? "DATABASE_URL" : "DATA_DIR";
  return new NoInstanceError(
    `There is no Latchkey database in ${describePlace(env)}. Set ${variable} to an existing one, or create it with \`latchkey migrate\`.`,
  );
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** A failure of the operating system's, such as EACCES; its message names the path. */
export function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
}

/** What went wrong, in words; a name with several addresses fails with several errors and no message of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
