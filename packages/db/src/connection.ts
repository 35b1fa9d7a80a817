import { userInfo } from "node:os";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { ReconnectBackoff } from "./reconnect-backoff.ts";
import type { Database } from "./schema.ts";

/** How to reach a Postgres: a URL, or the parts of one. */
export type DatabaseConnection =
  | { readonly connectionString: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

/**
 * What a connection of the product's may see: `latchkey_tenant` one workspace at a time, `latchkey_admission` what
 * decides about keys. Taken on as the connection is made, before its first statement.
 */
export type DatabaseRole = "latchkey_tenant" | "latchkey_admission";

export interface PoolOptions {
  /** The tenant's unless told; `login` is whom the connection signs in as, for migrations alone. */
  readonly role?: DatabaseRole | "login";
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** At most this many connections at once; 10 unless told. */
  readonly maxConnections?: number;
  /** How long a statement may wait for its answer, in milliseconds; 5,000 unless told. */
  readonly statementTimeoutMs?: number;
  /** How long a statement may wait for a lock, in milliseconds; as long as for its answer unless told. */
  readonly lockTimeoutMs?: number;
  /** Whether Postgres refuses every change; not with `login`. */
  readonly isReadOnly?: boolean;
}

/** How long to wait for a new connection, or for a free one of the pool, in milliseconds. */
const connectTimeoutMs = 1_500;

/** A Kysely over a pool of its own. `destroy()` closes it. Opening sends nothing: the first query connects. */
export function openDatabase(connection: DatabaseConnection, options: PoolOptions): Kysely<Database> {
  const { role = "latchkey_tenant", statementTimeoutMs = 5_000 } = options;
  const settings = options.isReadOnly ? ["default_transaction_read_only=on"] : [];
  const pool = new pg.Pool({
    Client: createBackoffClient(new ReconnectBackoff()),
    ...clientConfig(connection, options.applicationName),
    ...(role === "login" ? {} : { options: startupOptions(role, settings) }),
    max: options.maxConnections ?? 10,
    // The server ends a slow statement; the client gives up a little later, for a server that is silent.
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 500,
    ...(options.lockTimeoutMs ? { lock_timeout: options.lockTimeoutMs } : {}),
    idle_in_transaction_session_timeout: 10_000,
  });
  // A connection that breaks while idle is replaced by the pool; the next query that needs it will tell.
  pool.on("error", () => undefined);
  // One that breaks while in use tells the query under way; without a listener of ours it would end the process too.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}

/** A client class for one pool, whose connections share the pauses after failed attempts. */
function createBackoffClient(backoff: ReconnectBackoff): new () => pg.ClientBase {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = backoff.attempt(() => super.connect());
      if (!callback) return connected;
      // Despite the declared type, the pool's callback expects no argument after a success.
      connected.then(() => (callback as (error?: Error) => void)(), callback);
      return undefined;
    }
  };
}

/** The options a connection starts with: its role, and settings as `name=value` without spaces. */
export function startupOptions(role: DatabaseRole, settings: readonly string[] = []): string {
  return [`role=${role}`, ...settings].map((setting) => `-c ${setting}`).join(" ");
}

/** What every connection of ours has in common, for `pg.Client` and `pg.Pool`. */
export function clientConfig(connection: DatabaseConnection, applicationName: string): pg.ClientConfig {
  return {
    // A URL without a user means the one who runs the process, as with psql; pg would read $USER instead.
    ...("connectionString" in connection ? { user: userInfo().username } : {}),
    ...connection,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser },
  };
}

// Counts are bigint in Postgres and stay far below 2^53, so that they are numbers here.
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === pg.types.builtins.INT8 && format !== "binary"
    ? Number
    : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser; // One signature stands for pg's overloads.
