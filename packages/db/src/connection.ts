import { userInfo } from "node:os";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { createPoolClient } from "./pool-client.ts";
import { ReconnectBackoff } from "./reconnect-backoff.ts";
import type { Database } from "./schema.ts";

/** How to connect to Postgres: a URL or its parts. */
export type DatabaseConnection =
  | { readonly connectionString: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
      readonly ssl?: false;
    };

/**
 * The role of a connection. `latchkey_tenant` sees one workspace at a time, and `latchkey_admission` sees the columns
 * of all tenants that admission needs. The role is set by a startup option, so it applies from the first statement.
 */
export type DatabaseRole = "latchkey_tenant" | "latchkey_admission";

export interface PoolTimeouts {
  /** How long a statement may take, in milliseconds. */
  readonly statementTimeoutMs: number;
  /** How long to wait for a new connection, or for a free connection of the pool, in milliseconds. */
  readonly connectTimeoutMs: number;
}

export const poolTimeouts: PoolTimeouts = { statementTimeoutMs: 5_000, connectTimeoutMs: 1_500 };

/** The timeouts are those of {@link poolTimeouts} by default. */
export interface PoolOptions extends Partial<PoolTimeouts> {
  /**
   * The role; `latchkey_tenant` by default. `login`, for migrations, backups and the check of tenant isolation, keeps the user
   * that signs in.
   */
  readonly role?: DatabaseRole | "login";
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** The most connections at the same time; 10 by default. */
  readonly maxConnections?: number;
  /** How long a statement may wait for a lock, in milliseconds; limited by `statementTimeoutMs` by default. */
  readonly lockTimeoutMs?: number;
  /** How long a transaction may wait for its next statement, in milliseconds; 10,000 by default. */
  readonly idleTransactionTimeoutMs?: number;
  /** Whether Postgres rejects every write. Has no effect with `login`. */
  readonly isReadOnly?: boolean;
  /**
   * Whether attempts to connect to a standby fail. After a failover, a busy pool would keep a connection to the former primary
   * forever, although the server's name already leads to the new one. A server with `default_transaction_read_only` is accepted.
   */
  readonly rejectsStandby?: boolean;
}

/** Creates a Kysely instance with its own pool. The first query connects, and `destroy()` closes the pool. */
export function openDatabase(connection: DatabaseConnection, options: PoolOptions): Kysely<Database> {
  const { role = "latchkey_tenant", rejectsStandby = false } = options;
  const { statementTimeoutMs, connectTimeoutMs } = { ...poolTimeouts, ...options };
  const settings = options.isReadOnly ? ["default_transaction_read_only=on"] : [];
  const pool = new pg.Pool({
    Client: createPoolClient({ backoff: new ReconnectBackoff(), rejectsStandby }),
    ...clientConfig(connection, options.applicationName),
    ...(role === "login" ? {} : { options: startupOptions(role, settings) }),
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: connectTimeoutMs,
    ...statementTimeouts(statementTimeoutMs),
    ...(options.lockTimeoutMs ? { lock_timeout: options.lockTimeoutMs } : {}),
    idle_in_transaction_session_timeout: options.idleTransactionTimeoutMs ?? 10_000,
  });
  // The pool replaces an idle connection that breaks. If Postgres is unavailable, the next query fails.
  pool.on("error", () => undefined);
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}

/** The startup options of a connection: its role, and settings as `name=value` without spaces. */
export function startupOptions(role: DatabaseRole, settings: readonly string[] = []): string {
  return [`role=${role}`, ...settings].map((setting) => `-c ${setting}`).join(" ");
}

/** Postgres cancels a slow statement. The client gives up 500 ms later, in case Postgres does not respond. */
export function statementTimeouts(milliseconds: number): pg.ClientConfig {
  return { statement_timeout: milliseconds, query_timeout: milliseconds + 500 };
}

/** The configuration that all connections share, for `pg.Client` and `pg.Pool`. */
export function clientConfig(connection: DatabaseConnection, applicationName: string): pg.ClientConfig {
  return {
    ...connection,
    application_name: applicationName,
    connectionTimeoutMillis: poolTimeouts.connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser },
  };
}

// Without a user in the URL and in $PGUSER, signs in as the user who runs the process, as psql does. pg would read $USER instead.
// `user` of a client's configuration has no effect, because a URL replaces it, even one that names no user.
pg.defaults.user = findUserName() ?? pg.defaults.user;

/** Returns undefined if the user has no name, such as a user ID that a container is started with. */
function findUserName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

// Returns bigint as a number, because counts stay far below 2^53.
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === pg.types.builtins.INT8 && format !== "binary"
    ? Number
    : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser; // One signature for pg's overloads.
