import { createApiKey, createIssuedKey, type NewKey } from "@latchkey/auth/key-format";
import { createId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { migrate } from "@latchkey/db/migrate";
import pg from "pg";
import type { DatabaseConnection } from "./bench-cluster.ts";

/** The meters of the keys of a keyspace. */
export interface KeyspaceSeed {
  readonly limits: readonly {
    readonly name: string;
    readonly quota: number;
    readonly windowSeconds: number;
    readonly appliesAlways: boolean;
  }[];
  /** The balance of each key; null for none. */
  readonly credits: number | null;
  readonly secrets: readonly NewKey[];
}

/** The prefix of the issued keys. */
const prefix = "acme";

export function createSecrets(count: number): NewKey[] {
  return Array.from({ length: count }, () => createIssuedKey(prefix));
}

/**
 * Fills a Latchkey database: applies Latchkey's migrations, and stores a workspace with keyspaces and their keys, and more
 * keys of one more keyspace, without a known secret, up to the given number. The keys in use are at random positions in the
 * table.
 * @returns an API key that can verify keys of the workspace and do nothing else, and the IDs of the keyspaces.
 */
export async function seedKeyspaces(
  address: DatabaseConnection,
  { keyspaces, storedKeys }: { readonly keyspaces: readonly KeyspaceSeed[]; readonly storedKeys: number },
): Promise<{ readonly apiKey: string; readonly keyspaceIds: readonly string[] }> {
  await migrate(address);
  const client = new pg.Client(address);
  await client.connect();
  try {
    const workspaceId = createId("workspace");
    const apiKey = await insertVerifier(client, workspaceId);
    const keyspaceIds: string[] = [];
    await client.query(
      `create temporary table input (keyspace_id uuid, hash bytea, start text, limits jsonb, credits bigint)`,
    );
    for (const keyspace of keyspaces) keyspaceIds.push(await addKeyspace(client, workspaceId, keyspace));
    const inUse = keyspaces.reduce((total, { secrets }) => total + secrets.length, 0);
    await client.query(
      `insert into input select $1, sha256(uuid_send(gen_random_uuid())), 'acme_nobody', '[]', null from generate_series(1, $2::int)`,
      [await insertKeyspace(client, workspaceId), Math.max(0, storedKeys - inUse)],
    );
    await client.query(
      `insert into issued_keys (workspace_id, keyspace_id, id, hash, start, name, limits)
       select $1, keyspace_id, uuidv7(), hash, start, 'Key', limits
       from (select * from input order by random()) shuffled`,
      [workspaceId],
    );
    await client.query(
      `insert into key_counters (key_id, credits)
       select issued_keys.id, input.credits from issued_keys join input using (hash) order by issued_keys.id`,
    );
    await client.query("vacuum (analyze)");
    return { apiKey, keyspaceIds };
  } finally {
    await client.end();
  }
}

/** Inserts a workspace, and a member with an API key that is restricted to the permission to verify keys. */
async function insertVerifier(client: pg.Client, workspaceId: WorkspaceId): Promise<string> {
  const userId: UserId = createId("user");
  const keyId: KeyId = createId("key");
  const { secret, start, hash } = createApiKey();
  await client.query("insert into users (id, email, name) values ($1, 'ada@example.com', 'Ada Lovelace')", [
    userId,
  ]);
  await client.query("insert into workspaces (id, name, slug) values ($1, 'Acme', 'acme')", [workspaceId]);
  await client.query("insert into members (workspace_id, user_id, role) values ($1, $2, 'owner')", [
    workspaceId,
    userId,
  ]);
  await client.query(
    `insert into api_keys (id, user_id, name, start, hash, permissions)
     values ($1, $2, 'Verifier', $3, $4, '{keys:verify}')`,
    [keyId, userId, start, hash],
  );
  await client.query("insert into key_counters (key_id) values ($1)", [keyId]);
  return secret;
}

async function insertKeyspace(client: pg.Client, workspaceId: WorkspaceId): Promise<string> {
  const id = createId("keyspace");
  await client.query("insert into keyspaces (workspace_id, id, name, prefix) values ($1, $2, 'API', $3)", [
    workspaceId,
    id,
    prefix,
  ]);
  return id;
}

/** Inserts a keyspace, and adds its keys to the input. */
async function addKeyspace(
  client: pg.Client,
  workspaceId: WorkspaceId,
  { secrets, limits, credits }: KeyspaceSeed,
): Promise<string> {
  const id = await insertKeyspace(client, workspaceId);
  await client.query(
    "insert into input select $1, hash, start, $4, $5 from unnest($2::bytea[], $3::text[]) key (hash, start)",
    [id, secrets.map(({ hash }) => hash), secrets.map(({ start }) => start), JSON.stringify(limits), credits],
  );
  return id;
}
