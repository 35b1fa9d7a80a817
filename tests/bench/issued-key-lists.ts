import { clientConfig } from "@latchkey/db/connection";
import { createId, encodeId, type KeyspaceId, type WorkspaceId } from "@latchkey/db/ids";
import pg from "pg";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";
import { seedKeys, seedUsage } from "./seed-issued-keys.ts";

// `pnpm bench:issued-keys`: measures requests for lists of issued keys and consumers of one keyspace with 100,000 and with
// 1,000,000 keys, through the open API, then the calls of the pages that show their usage. Fails if a median is over 50 ms for a
// list, or over 100 ms for the preview of a deletion or for a call that adds up usage. Use an idle machine.

const keyCounts = [100_000, 1_000_000];
const repetitions = 15;
const maxListMs = 50;
/** The preview reads the newest 10,000 keys with their counters and uses, and people wait for it only before they delete or disable a keyspace. */
const maxPreviewMs = 100;
const maxUsageMs = 100;

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
  ["expiring, the oldest in three", "?status=expiring"],
  ["expiring, newest first", "?status=expiring&sort=-createdAt"],
  ["expiring, by expiry", "?status=expiring&sort=expiresAt"],
  ["out of credits, one in 1,000", "?status=out-of-credits"],
  ["a permission and a name, no key", "?permission=documents.write&name=key%205"],
  ["consumers", "consumers?sort=-createdAt"],
  ["consumers, by external ID", "consumers?sort=externalId"],
  ["consumers, every one", "consumers?search=customer"],
  ["consumers, a few", "consumers?search=customer_777"],
  ["consumers, none", "consumers?search=nobody"],
];

/** By sort order: the column, and what a cursor has of it, in SQL. */
const positions = {
  createdAt: { column: "created_at", value: "(extract(epoch from created_at) * 1000000)::bigint::text" },
  name: { column: "name_search", value: "name_search" },
} as const;

/** Lists whose page after nine in ten rows is measured. */
const deepPages = [
  { what: "deep page of keys", list: "keys", table: "issued_keys", sort: "createdAt" },
  { what: "deep page of keys, by name", list: "keys", table: "issued_keys", sort: "name" },
  { what: "deep page of consumers", list: "consumers", table: "consumers", sort: "createdAt" },
] as const;

/** The request for a page after nine in ten rows. Reading all pages before it would take minutes, so the cursor is made here. */
async function findDeepPage(
  client: pg.Client,
  keyspaceId: KeyspaceId,
  { list, table, sort }: (typeof deepPages)[number],
): Promise<string> {
  const { column, value } = positions[sort];
  const { rows } = await client.query<{ id: string; value: string }>(
    `select id, ${value} as value from ${table} where keyspace_id = $1 order by ${column}, id
    offset (select count(*) * 9 / 10 from ${table}) limit 1`,
    [keyspaceId],
  );
  const [row] = rows;
  if (!row) throw new Error(`${table} has no rows.`);
  const cursor = Buffer.from(JSON.stringify([sort, row.value, row.id])).toString("base64url");
  return `${list}?sort=${sort}&cursor=${cursor}`;
}

/** Searches of the web app's list of keys: for names and secrets together. */
const searches: readonly (readonly [what: string, input: object])[] = [
  ["search, every name", { search: "key" }],
  ["search, every name, by name", { search: "key", sort: "-name" }],
  ["search, a few names", { search: "key 12345" }],
  ["search, every secret", { search: "sk_live_" }],
  ["search, one secret in 16, by name", { search: "sk_live_a", sort: "name" }],
  ["search, one secret", { search: "sk_live_abcdef" }],
  ["search, old secrets of one key in 16, by name", { search: "sk_old_a", sort: "name" }],
  ["search, an old secret", { search: "sk_old_abcdef" }],
  ["search, nothing", { search: "nobody" }],
];

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

const daySeconds = 86_400;

/** The daily buckets of a chart, in a time zone whose days don't begin at midnight in UTC. */
function bucketsOf(count: number) {
  const today = Math.floor(Date.now() / 1_000 / daySeconds) * daySeconds - 2 * 3_600;
  const starts = Array.from({ length: count }, (_, index) => today - (count - 1 - index) * daySeconds);
  return { starts, to: today + daySeconds };
}

/** Measures a call of the web app. */
async function measureCall(account: Account, path: string, input: object): Promise<readonly number[]> {
  const times: number[] = [];
  for (let time = 0; time <= repetitions; time += 1) {
    const startedAt = performance.now();
    const { status } = await callProcedure(baseUrl, { path, kind: "query", input, cookie: account.cookie });
    if (status !== 200) throw new Error(`${path} returned ${status}.`);
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
const account = await signUp(baseUrl);
const { key: secret } = await createKey(baseUrl, account, "Bench");
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
  const report = (what: string, times: readonly number[], maxMs: number) => {
    if (median(times) > maxMs) slow.push(`${what}, ${count} keys`);
    table.push([what, median(times).toFixed(1), percentile95(times).toFixed(1)]);
  };
  for (const [what, query] of requests)
    report(what, await measure(`${path}/${query.replace(/^\?/, "keys?")}`, secret), maxListMs);
  for (const page of deepPages) {
    const query = await findDeepPage(client, keyspaceId, page);
    report(page.what, await measure(`${path}/${query}`, secret), maxListMs);
  }
  const ids = { workspaceId: encodeId("workspace", workspace.id) };
  const ofKeyspace = { ...ids, keyspaceId: encodeId("keyspace", keyspaceId) };
  for (const [what, input] of searches)
    report(what, await measureCall(account, "issuedKeys.list", { ...ofKeyspace, ...input }), maxListMs);
  report("deletion preview", await measure(`${path}/deletion-preview`, secret), maxPreviewMs);
  await seedUsage(client, keyspaceId);
  for (const days of [1, 30, 90]) {
    const buckets = bucketsOf(days);
    for (const [path, input] of [
      ["overview.verifications", { ...ids, ...buckets }],
      ["keyspaceUsage.usage", { ...ofKeyspace, ...buckets }],
      ["keyspaceUsage.busiest", { ...ofKeyspace, ...buckets }],
    ] as const)
      report(`${path}, ${days} days`, await measureCall(account, path, input), maxUsageMs);
  }
  console.info(`${count.toLocaleString("en")} keys of one keyspace; ${repetitions} requests each, in ms.\n`);
  console.info(renderTable(["", "median", "95th percentile"], table));
}
if (slow.length > 0) {
  console.error(`Too slow: ${slow.join("; ")}`);
  process.exitCode = 1;
}
