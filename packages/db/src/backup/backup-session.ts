import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { clientConfig, type DatabaseConnection } from "../connection.ts";
import type { Database, Db } from "../schema.ts";

/** One connection as the owner of the database, for statements and for the rows that `COPY` streams. */
export interface BackupSession {
  readonly client: pg.Client;
  /** The same connection for queries; begins no transaction by itself. */
  readonly db: Db;
  /** Ends the connection, even during a `COPY`. */
  readonly close: () => Promise<void>;
}

/** How long a statement waits for a lock, such as a migration's, in milliseconds. */
const lockTimeoutMs = 10_000;

/**
 * Opens a session that reads and writes values in one format, whatever the settings of the server and the role are.
 * Statements and transactions have no time limit, because a table has no size limit.
 * @param applicationName shown in `pg_stat_activity`.
 */
export async function openBackupSession(
  connection: DatabaseConnection,
  applicationName: string,
): Promise<BackupSession> {
  const client = new pg.Client({ ...clientConfig(connection, applicationName), lock_timeout: lockTimeoutMs });
  // The statement in flight reports the error. Without this listener, it would end the process.
  client.on("error", () => undefined);
  await client.connect();
  const pool = {
    options: {},
    connect: async () => Object.assign(client, { release: () => undefined }),
    end: async () => undefined,
  };
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  const session = { client, db, close: () => client.end() };
  try {
    for (const setting of settings) await client.query(`set ${setting}`);
    // Some of these exist only in Postgres 17 and later, and an unknown setting can't be set.
    await client.query("select set_config(name, '0', false) from pg_settings where name = any($1)", [
      timeouts,
    ]);
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

const settings = [
  "client_encoding = 'UTF8'",
  "datestyle = 'ISO, YMD'",
  "intervalstyle = 'postgres'",
  "timezone = 'UTC'",
  "bytea_output = 'hex'",
  "extra_float_digits = 3",
  "latchkey.backup = 'on'",
];

const timeouts = [
  "statement_timeout",
  "transaction_timeout",
  "idle_in_transaction_session_timeout",
  "idle_session_timeout",
];
