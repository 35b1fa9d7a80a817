import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Ground } from "../ground/ground.ts";
import type { Subject } from "../subjects.ts";

/** What a database has written down. */
export interface Books {
  readonly uses: number;
  /** Flushes of the cluster's write-ahead log since it was made. */
  readonly flushes: number;
}

/** What came back of all loads of a server's life. */
export interface Total {
  readonly answered: number;
  /** Answered, and cut off at the end of a load before their answer. */
  readonly sent: number;
  /** At once, at any time. */
  readonly mostConnections: number;
}

/** Reads a subject's books once nobody uses its database any more; undefined without a database. */
export async function readBooks(ground: Ground, { store }: Subject): Promise<Books | undefined> {
  if (!store) return undefined;
  await waitUntilAlone(ground, store.address.database);
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
 * How many answers one flush stood for.
 * @throws an Error when what was counted does not fit what was answered, or was not durable when it was.
 */
export function auditBooks(
  name: string,
  { before, after, total }: { readonly before: Books; readonly after: Books; readonly total: Total },
): number {
  const counted = after.uses - before.uses;
  const books = `${name}: answered ${total.answered}, counted ${counted}, sent at most ${total.sent}`;
  if (!(total.answered <= counted && counted <= total.sent))
    throw new Error(`Not counted exactly: ${books}.`);
  // Every answer needs a flush since its request, and a connection has one request under way: so one flush can
  // stand for as many answers as there are connections, and for no more.
  const flushes = after.flushes - before.flushes;
  if (flushes * total.mostConnections < total.answered) {
    throw new Error(`Not durable: ${flushes} flushes; ${books}.`);
  }
  return total.answered / flushes;
}

/** A connection hands in its statistics when it ends, a moment after its client has. Waits 10 s at most. */
async function waitUntilAlone(ground: Ground, database: string): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const { rowCount } = await ground.admin.query(
      "select from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [database],
    );
    if (rowCount === 0) return;
    await delay(20);
  }
  throw new Error(`Somebody stays connected to ${database}.`);
}
