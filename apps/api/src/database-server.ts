import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { databaseFailure, isDatabaseStarting } from "@latchkey/db/database-failure";
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresEvent,
  hasEmbeddedPostgres,
  openEmbeddedPostgres,
} from "@latchkey/db/embedded-postgres";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import { readServerVersion } from "@latchkey/db/server-version";
import { isDatabaseMissing } from "@latchkey/db/sqlstate";
import type { Env } from "./env.ts";
import { NoInstanceError, StartError } from "./start-error.ts";
import { isSystemError } from "./system-error.ts";
import { waitForDatabase } from "./wait-for-database.ts";

/** A Postgres that accepts connections. Its database may be empty. */
export interface DatabaseServer {
  readonly connection: DatabaseConnection;
  /** Whether it is the embedded Postgres, which runs while any process uses it. */
  readonly isEmbedded: boolean;
  /** Where the data and the programs of the embedded Postgres are, and why, if they aren't where an operator expects them. */
  readonly locationNote: string | undefined;
  /** Releases the database. The last process to release the embedded Postgres stops it. */
  readonly close: () => Promise<void>;
}

export interface ServerOptions {
  /** Whether to create the embedded Postgres if there is none. */
  readonly canCreate: boolean;
  readonly onEvent?: (event: EmbeddedPostgresEvent) => void;
  /** How long to wait for a Postgres that isn't up yet, in milliseconds; 0 by default. */
  readonly waitMs?: number;
  /** Called with a sentence when the wait begins, and when its reason changes. */
  readonly onWait?: (message: string) => void;
  /** Ends the wait, including the wait for an embedded Postgres that is starting or recovering. */
  readonly signal?: AbortSignal;
}

const oldestServerVersion = 15;

/** The variables of the environment that locate the database. */
export type DatabaseLocation = Partial<Pick<Env, "databaseUrl">> & Pick<Env, "dataDirectory">;

/**
 * Connects to the Postgres of `DATABASE_URL`, or starts the embedded one.
 * @throws {StartError}
 * @throws {NoInstanceError} if there is no embedded Postgres and `canCreate` is false, or the database of `DATABASE_URL` doesn't
 *   exist.
 */
export async function openServer(
  location: DatabaseLocation,
  options: ServerOptions,
): Promise<DatabaseServer> {
  return location.databaseUrl
    ? await openExternal(location.databaseUrl, options)
    : await openEmbedded(location.dataDirectory, options);
}

async function openEmbedded(
  dataDirectory: string,
  { canCreate, onEvent = () => undefined, signal }: ServerOptions,
): Promise<DatabaseServer> {
  try {
    if (!canCreate && !(await hasEmbeddedPostgres(dataDirectory)))
      throw createNoInstanceError({ dataDirectory });
    const postgres = await openEmbeddedPostgres({ dataDirectory, onEvent, ...(signal && { signal }) });
    const { connection, close } = postgres;
    return { connection, isEmbedded: true, locationNote: createLocationNote(postgres), close };
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw new StartError(error.message, { cause: error });
    if (isSystemError(error)) {
      throw new StartError(`The embedded Postgres cannot be set up: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

/** Creates the sentences of `locationNote`; undefined if everything is where an operator expects it. */
export function createLocationNote({
  location: { directory, reason },
  copiedBinaries: copy,
}: Pick<EmbeddedPostgres, "location" | "copiedBinaries">): string | undefined {
  const sentences = [
    reason !== undefined && `Its data is in ${directory}, because ${reason}.`,
    copy && `Postgres runs from a copy in ${copy.directory}, because ${copy.reason}.`,
  ].filter((sentence) => sentence !== false && sentence !== undefined);
  return sentences.length > 0 ? sentences.join(" ") : undefined;
}

async function openExternal(databaseUrl: string, options: ServerOptions): Promise<DatabaseServer> {
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
          `The Postgres server in DATABASE_URL (${withoutPassword(databaseUrl)}) isn't accepting connections yet: ${reasonOf(error)}. Waiting for up to ${waitMs / 1_000} s.`,
        ),
      ...(signal ? { signal } : {}),
    });
    if (version < oldestServerVersion) {
      throw new StartError(
        `DATABASE_URL points to Postgres ${version}; Latchkey needs ${oldestServerVersion} or newer.`,
      );
    }
  } catch (error) {
    if (error instanceof StartError || options.signal?.aborted) throw error;
    const unusable = `The Postgres server in DATABASE_URL (${withoutPassword(databaseUrl)}) can't be used: ${reasonOf(error)}`;
    if (isDatabaseMissing(error)) {
      const advice =
        "Latchkey creates only the schema. Create the database, or set DATABASE_URL to an existing one.";
      throw new NoInstanceError(`${unusable}. ${advice}`, { cause: error });
    }
    const waited =
      options.waitMs && isDatabaseStarting(error) ? ` (after waiting for ${options.waitMs / 1_000} s)` : "";
    throw new StartError(`${unusable}${waited}.`, { cause: error });
  } finally {
    await db.destroy();
  }
  return { connection, isEmbedded: false, locationNote: undefined, close: async () => undefined };
}

/** The data directory, or the URL without its credentials. */
export function describeLocation({ databaseUrl, dataDirectory }: DatabaseLocation): string {
  return databaseUrl ? withoutPassword(databaseUrl) : dataDirectory;
}

/** Says that the database was created, and where, if its data isn't in the usual directory. */
export function describeCreation(
  location: string,
  { locationNote }: Pick<DatabaseServer, "locationNote">,
): string {
  const created = `Created a Latchkey database in ${location}.`;
  return locationNote === undefined ? created : `${created} ${locationNote}`;
}

/** Creates the error for a location without a Latchkey database. */
export function createNoInstanceError(env: DatabaseLocation): NoInstanceError {
  const variable = env.databaseUrl ? "DATABASE_URL" : "DATA_DIR, or DATABASE_URL for your own Postgres,";
  return new NoInstanceError(
    `There is no Latchkey database in ${describeLocation(env)}. Set ${variable} to an existing one, or create it with \`latchkey migrate\`.`,
  );
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/**
 * The message of an error. A host name with several addresses fails with an `AggregateError`, which has no message.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if (error.message.includes(missingPassword)) return "the server requires a password, and the URL has none";
  return error.message || error.name;
}

/** The driver's message when the server asks for a password and there is none. It has no code. */
const missingPassword = "client password must be a string";

/**
 * A sentence for the operator about a database that is unavailable, full or read-only, or a statement that was canceled;
 * undefined for any other error.
 */
export function describeDatabaseFailure(error: unknown): string | undefined {
  return databaseFailure(error) && `The database is unavailable or busy: ${reasonOf(error)}.`;
}
