import { createHash } from "node:crypto";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { migrate } from "@latchkey/db/migrate";
import pg from "pg";
import type { DatabaseConnection } from "./bench-cluster.ts";

/** The contents of a Latchkey database. */
export interface SeedOptions {
  /** The secrets of the keys in use. */
  readonly secrets: readonly string[];
  /** The number of stored keys, including those in use. The others have hashes without a known secret. */
  readonly storedKeys: number;
  /** The restrictions of all keys; none by default. */
  readonly restrictions?: Restrictions | undefined;
}

/** A rate limit that is never reached; or an expiry, IP ranges, permissions and read-only access. */
export type Restrictions = "limited" | "restricted";

const restrictionsSql: Readonly<Record<Restrictions, string>> = {
  limited: "update api_keys set limit_quota = 1000000000, limit_window_seconds = 86400",
  restricted: `
    update api_keys set expires_at = now() + interval '1 day', ip_ranges = '{127.0.0.0/8,::1,10.0.0.0/8}',
      permissions = '{workspace:read,members:read}', is_read_only = true`,
};

const users = 1_000;

/**
 * Fills a Latchkey database: applies Latchkey's migrations, and stores keys of a thousand users as Latchkey would. The
 * keys in use are at random positions in the table.
 */
export async function seedLatchkey(address: DatabaseConnection, options: SeedOptions): Promise<void> {
  await migrate(address);
  const client = new pg.Client(address);
  await client.connect();
  try {
    await client.query(
      `insert into users (id, email, name)
       select uuidv7(), 'ada' || n || '@example.com', 'Ada Lovelace' from generate_series(1, $1::int) n`,
      [Math.min(users, options.storedKeys)],
    );
    // Skips the foreign-key check of each row, because all rows refer to the users inserted above.
    await client.query("set session_replication_role = replica");
    await insertKeys(client, options);
    await client.query("insert into key_counters (key_id) select id from api_keys order by id");
    if (options.restrictions) await client.query(restrictionsSql[options.restrictions]);
    await client.query("vacuum (analyze)");
  } finally {
    await client.end();
  }
}

/** Adds a workspace whose members are all users, in the order of their IDs. Returns its ID. */
export async function addWorkspace(address: DatabaseConnection): Promise<WorkspaceId> {
  const client = new pg.Client(address);
  await client.connect();
  try {
    const id = createId("workspace");
    await client.query("insert into workspaces (id, name, slug) values ($1, 'Payments', 'payments')", [id]);
    await client.query(
      "insert into members (workspace_id, user_id, role) select $1, id, 'owner' from users order by id",
      [id],
    );
    await client.query("vacuum (analyze)");
    return id;
  } finally {
    await client.end();
  }
}

/** Inserts the keys in random order, with increasing IDs, like keys that are created one after the other. */
async function insertKeys(client: pg.Client, { secrets, storedKeys }: SeedOptions): Promise<void> {
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
