import type { Kysely } from "kysely";
import type pg from "pg";
import { clientConfig, type DatabaseConnection, openDatabase, type PoolOptions } from "../connection.ts";
import type { Database } from "../schema.ts";

/** Timeouts of a test's own connections. They only end what hangs, on a busy machine too. */
const timeouts = {
  statementTimeoutMs: 120_000,
  connectTimeoutMs: 60_000,
  idleTransactionTimeoutMs: 300_000,
};

/** Opens a pool of a test's own. */
export function openTestPool(connection: DatabaseConnection, options: PoolOptions): Kysely<Database> {
  return openDatabase(connection, { ...timeouts, ...options });
}

/** The configuration of a client of a test's own, which waits longer for its connection than the product's clients. */
export function testClientConfig(connection: DatabaseConnection, applicationName: string): pg.ClientConfig {
  return {
    ...clientConfig(connection, applicationName),
    connectionTimeoutMillis: timeouts.connectTimeoutMs,
  };
}
