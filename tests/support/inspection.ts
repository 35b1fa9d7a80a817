import type { DatabaseConnection } from "@latchkey/db/connection";
import { decodeId } from "@latchkey/db/ids";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";

/** Reads and changes the product's database directly. */

export type Connection = DatabaseConnection;

/** The name of these connections in `pg_stat_activity`. */
const inspectorName = "latchkey test inspector";

/** Returns the number of uses of a key in the database; -1 if the key doesn't exist. */
export async function readUses(connection: Connection, id: string): Promise<number> {
  const rows = await query<{ uses: number }>(
    connection,
    `select counter.use_count + coalesce(own.use_count, 0) as uses
     from key_counters counter left join issued_key_uses own using (key_id) where key_id = $1`,
    [toUuid(id)],
  );
  return rows[0]?.uses ?? -1;
}

/** Returns the nodes' connections to this database, by `application_name`. */
export async function countNodeConnections(
  connection: Connection,
): Promise<Readonly<Record<string, number>>> {
  const rows = await query<{ name: string; count: number }>(
    connection,
    `select application_name as name, count(*) as count from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> $1
    group by application_name`,
    [inspectorName],
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Takes locks with a statement, in a transaction that stays open until it is released. */
export async function holdLocks(
  connection: Connection,
  statement: string,
  values: readonly unknown[] = [],
): Promise<{ readonly release: () => Promise<void> }> {
  const client = await open(connection);
  await client.query("begin");
  await client.query(statement, [...values]);
  return {
    async release() {
      // Rolls back what was changed under the lock.
      await client.query("rollback");
      await client.end();
    },
  };
}

/** Returns the UUID of a key ID. @throws an Error if it isn't a key ID. */
export function toUuid(id: string): string {
  const uuid = decodeId("key", id);
  if (!uuid) throw new Error(`Not a key ID: ${id}`);
  return uuid;
}

/** @throws Postgres's error, such as 53300 if it accepts no more connections. */
export async function open(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client(testClientConfig(connection, inspectorName));
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function query<Row extends pg.QueryResultRow>(
  connection: Connection,
  statement: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const client = await open(connection);
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}
