import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { BenchCluster } from "../database/bench-cluster.ts";
import type { Subject } from "../subject.ts";

/** Counts that a database has recorded. */
export interface DatabaseCounts {
  readonly uses: number;
  /** Flushes of the cluster's write-ahead log since its creation. */
  readonly flushes: number;
}

/** The totals of all loads of a server. */
export interface LoadTotals {
  readonly answered: number;
  /** Responses with an error status. They are among the answered ones, and may have counted no use. */
  readonly rejected: number;
  /** Requests that were answered, or aborted at the end of a load. */
  readonly sent: number;
  /** The maximum number of connections at the same time. */
  readonly maxConnections: number;
}

/** Reads a subject's counts when no client is still connected to its database; undefined without a database. */
export async function readCounts(
  cluster: BenchCluster,
  { store }: Subject,
): Promise<DatabaseCounts | undefined> {
  if (!store) return undefined;
  await waitForDisconnects(cluster, store.address.database);
  const client = new pg.Client(store.address);
  await client.connect();
  try {
    const uses = await client.query<{ uses: number }>(store.countSql);
    const flushes = await client.query<{ flushes: number }>(
      "select sum(fsyncs)::float8 as flushes from pg_stat_io where object = 'wal'",
    );
    return { uses: uses.rows[0]?.uses ?? Number.NaN, flushes: flushes.rows[0]?.flushes ?? Number.NaN };
  } finally {
    await client.end();
  }
}

/**
 * Returns the number of responses per flush.
 * @throws an Error if the counts don't match the responses, or can't have been durable before them.
 */
export function checkCounts(
  { name, usesPerRequest }: Pick<Subject, "name" | "usesPerRequest">,
  {
    before,
    after,
    total,
  }: { readonly before: DatabaseCounts; readonly after: DatabaseCounts; readonly total: LoadTotals },
): number {
  const counted = (after.uses - before.uses) / usesPerRequest;
  const counts = `${name}: answered ${total.answered}, rejected ${total.rejected}, counted ${counted}, sent at most ${total.sent}`;
  if (!(total.answered - total.rejected <= counted && counted <= total.sent))
    throw new Error(`Not counted exactly: ${counts}.`);
  // Every response needs a flush after its request, and a connection has one request in flight. So one flush can
  // cover at most one response per connection.
  const flushes = after.flushes - before.flushes;
  if (flushes * total.maxConnections < total.answered - total.rejected) {
    throw new Error(`Not durable: ${flushes} flushes; ${counts}.`);
  }
  return total.answered / flushes;
}

/**
 * Waits until no client is connected, for at most 10 s: a backend reports its statistics when it exits, shortly
 * after its client disconnects.
 */
async function waitForDisconnects(cluster: BenchCluster, database: string): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const { rowCount } = await cluster.admin.query(
      "select from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [database],
    );
    if (rowCount === 0) return;
    await delay(20);
  }
  throw new Error(`A client is still connected to ${database}.`);
}
