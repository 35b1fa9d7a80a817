import { createHash } from "node:crypto";
import { migrate } from "@latchkey/db/migrate";
import pg from "pg";
import type { DatabaseAddress } from "./ground.ts";

/** What a database of the product is to hold. */
export interface Stock {
  /** The secrets of the keys that will be used. */
  readonly secrets: readonly string[];
  /** All keys, those included. The rest have hashes that belong to no secret. */
  readonly storedKeys: number;
  /** What all of them are held to; nothing unless told. */
  readonly bounds?: Bounds | undefined;
}

/** A limit that is never reached; or a time, a place, permissions and reading. */
export type Bounds = "limited" | "narrowed";

const boundsSql: Readonly<Record<Bounds, string>> = {
  limited: "update api_keys set limit_quota = 1000000000, limit_window_seconds = 86400",
  narrowed: `
    update api_keys set expires_at = now() + interval '1 day', ip_ranges = '{127.0.0.0/8,::1,10.0.0.0/8}',
      permissions = '{workspace:read,members:read}', is_read_only = true`,
};

const users = 1_000;

/**
 * Fills a database of the product: its own schema, and keys as its own code would have stored them, by a thousand
 * users, those in use spread at random over the table.
 */
export async function seedLatchkey(address: DatabaseAddress, stock: Stock): Promise<void> {
  await migrate(address);
  const client = new pg.Client(address);
  await client.connect();
  try {
    await client.query(
      `insert into users (id, email, name)
       select uuidv7(), 'ada' || n || '@example.com', 'Ada Lovelace' from generate_series(1, $1::int) n`,
      [Math.min(users, stock.storedKeys)],
    );
    // Foreign keys are not checked row by row: what is inserted refers to the users just made.
    await client.query("set session_replication_role = replica");
    await insertKeys(client, stock);
    await client.query("insert into key_counters (key_id) select id from api_keys order by id");
    if (stock.bounds) await client.query(boundsSql[stock.bounds]);
    await client.query("vacuum (analyze)");
  } finally {
    await client.end();
  }
}

/** In random order, with ids that grow in that order, as keys made one after the other have them. */
async function insertKeys(client: pg.Client, { secrets, storedKeys }: Stock): Promise<void> {
  const hashes = secrets.map((secret) => createHash("sha256").update(secret).digest());
  await client.query(
    `with owners as (
       select array_agg(id) as ids from users
     ), hashes as (
       select hash, start from unnest($1::bytea[], $2::text[]) active (hash, start)
       union all
       select sha256(uuid_send(gen_random_uuid())), 'lk_nobody' from generate_series(1, $3::int)
     ), shuffled as (
       select hash, start, row_number() over () as n from (select * from hashes order by random()) hashes
     )
     insert into api_keys (id, user_id, name, start, hash)
     select uuidv7(), ids[1 + n % array_length(ids, 1)], 'Key ' || n, start, hash from shuffled, owners order by n`,
    [hashes, secrets.map((secret) => secret.slice(0, 9)), storedKeys - secrets.length],
  );
}
