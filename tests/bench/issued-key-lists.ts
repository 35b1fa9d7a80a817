import { clientConfig } from "@latchkey/db/connection";
import { createId, encodeId, type KeyspaceId, type WorkspaceId } from "@latchkey/db/ids";
import pg from "pg";
import { createKey, signUp } from "../support/account.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:issued-keys`: measures requests for lists of issued keys and consumers of one keyspace with 100,000 and with
// 1,000,000 keys, through the open API. Fails if a median takes more than 50 ms. Use an idle machine.

const keyCounts = [100_000, 1_000_000];
const repetitions = 15;
const maxMedianMs = 50;

/** Requests by what they measure; all of keys, except for those that start with a path. */
const requests: readonly (readonly [what: string, query: string])[] = [
  ["newest first", "?sort=-createdAt"],
  ["oldest first", "?sort=createdAt"],
  ["by name", "?sort=name"],
  ["by expiry", "?sort=expiresAt"],
  ["100 keys", "?sort=-createdAt&limit=100"],
  ["name, every key", "?name=key"],
  ["name, every key, by name", "?name=key&sort=-name"],
  ["name, a few keys", "?name=key%2012345"],
  ["name, no key", "?name=nobody"],
  ["first characters, every key", "?start=sk_live_"],
  ["first characters, one in 16", "?start=sk_live_a&sort=name"],
  ["first characters, one key", "?start=sk_live_abcdef"],
  ["first characters, no key", "?start=sk_live_ZZ"],
  ["first characters of old secrets, one in 16 keys", "?start=sk_old_a&sort=name"],
  ["first characters of old secrets, one key", "?start=sk_old_abcdef"],
  ["external ID, three keys", "?externalId=customer_77"],
  ["external ID, no key", "?externalId=nobody"],
  ["permission, every key", "?permission=documents.read"],
  ["permission, every key, by name", "?permission=documents.read&sort=name"],
  ["permission, 10 keys", "?permission=admin"],
  ["permission, no key", "?permission=nobody"],
  ["active", "?status=active"],
  ["disabled, one in 100", "?status=disabled"],
  ["disabled, by name", "?status=disabled&sort=name"],
  ["expired, one in 100, by expiry", "?status=expired&sort=expiresAt"],
  ["expired, newest first", "?status=expired&sort=-createdAt"],
  ["out of credits, one in 1,000", "?status=out-of-credits"],
  ["a permission and a name, no key", "?permission=documents.write&name=key%205"],
  ["consumers", "consumers?sort=-createdAt"],
  ["consumers, by external ID", "consumers?sort=externalId"],
  ["consumers, every one", "consumers?search=customer"],
  ["consumers, a few", "consumers?search=customer_777"],
  ["consumers, none", "consumers?search=nobody"],
  ["deletion preview", "deletion-preview"],
];

/**
 * Adds keys to a keyspace with SQL until there are `count`, each with an old secret, and with a consumer for every three of them. The newest half has a
 * permission that the oldest half lacks.
 */
async function seedKeys(client: pg.Client, keyspaceId: KeyspaceId, count: number): Promise<void> {
  await client.query(
    `insert into consumers (workspace_id, keyspace_id, id, external_id, created_at)
    select workspace_id, id, uuidv7(), 'customer_' || n, now() - ($2 - n) * interval '1 second'
    from keyspaces, generate_series(0, $2::int / 3) n where id = $1
    on conflict do nothing`,
    [keyspaceId, count],
  );
  await client.query(
    `insert into issued_keys
      (workspace_id, keyspace_id, id, consumer_id, hash, start, name, permissions, expires_at, disabled_at, created_at)
    select consumers.workspace_id, keyspace_id, uuidv7(), consumers.id, sha256(n::text::bytea),
      'sk_live_' || substr(md5(n::text), 1, 6), 'Key ' || n,
      array['documents.read'] || case when n > $2 / 2 then array['documents.write'] else '{}' end
        || case when n % ($2 / 10) = 0 then array['admin'] else '{}' end,
      case when n % 100 = 1 then now() - interval '1 day' when n % 3 = 0 then now() + n * interval '1 minute' end,
      case when n % 100 = 2 then now() end,
      now() - ($2 - n) * interval '1 second'
    from generate_series((select count(*) + 1 from issued_keys), $2::int) n
    join consumers on keyspace_id = $1 and external_id = 'customer_' || n / 3`,
    [keyspaceId, count],
  );
  await client.query(`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select sha256(hash), workspace_id, keyspace_id, id, 'sk_old_' || right(start, 6), now() + interval '1 day' from issued_keys
    on conflict do nothing`);
  await client.query(`
    insert into key_counters (key_id, credits, credits_refilled_at, use_count)
    select id, case when right(name, 3) = '000' then 0 end, now(), 1 from issued_keys
    union all select id, null, null, 0 from consumers
    on conflict do nothing`);
  await client.query("vacuum (analyze)");
}

/** Measures a request. The first one may plan the statements and is left out. */
async function measure(url: string, secret: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let time = 0; time <= repetitions; time += 1) {
    const startedAt = performance.now();
    const response = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } });
    await response.text();
    if (response.status !== 200) throw new Error(`${url} returned ${response.status}.`);
    times.push(performance.now() - startedAt);
  }
  return times.slice(1);
}

function percentile95(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN;
}

await using stack = new AsyncDisposableStack();
const instance = await createTestInstance();
stack.defer(() => instance.close());
const { baseUrl } = await instance.start();
const { key: secret } = await createKey(baseUrl, await signUp(baseUrl), "Bench");
const client = new pg.Client(clientConfig(await connectionTo(instance.cluster), "seed"));
await client.connect();
stack.defer(() => client.end());
const keyspaceId = createId("keyspace");
const { rows } = await client.query<{ id: WorkspaceId }>(
  `insert into keyspaces (workspace_id, id, name, prefix) select id, $1, 'Production', 'sk_live' from workspaces
  returning workspace_id as id`,
  [keyspaceId],
);
const [workspace] = rows;
if (!workspace) throw new Error("There is no workspace.");
const path = `${baseUrl}/open/workspaces/${encodeId("workspace", workspace.id)}/keyspaces/${encodeId("keyspace", keyspaceId)}`;
const slow: string[] = [];
for (const count of keyCounts) {
  await seedKeys(client, keyspaceId, count);
  const table: string[][] = [];
  for (const [what, query] of requests) {
    const times = await measure(`${path}/${query.replace(/^\?/, "keys?")}`, secret);
    if (median(times) > maxMedianMs) slow.push(`${what}, ${count} keys`);
    table.push([what, median(times).toFixed(1), percentile95(times).toFixed(1)]);
  }
  console.info(`${count.toLocaleString("en")} keys of one keyspace; ${repetitions} requests each, in ms.\n`);
  console.info(renderTable(["", "median", "95th percentile"], table));
}
if (slow.length > 0) {
  console.error(`More than ${maxMedianMs} ms: ${slow.join("; ")}`);
  process.exitCode = 1;
}
