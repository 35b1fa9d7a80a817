import { createApiKey } from "@latchkey/auth/key-format";
import type { BenchCluster, DatabaseConnection } from "./database/bench-cluster.ts";
import { seedBetterAuth } from "./database/seed-better-auth.ts";
import { createSecrets, type KeyspaceSeed, seedKeyspaces } from "./database/seed-keyspaces.ts";
import type { LoadRequest } from "./load/start-load.ts";
import { betterAuthMaxRejectedShare } from "./servers/better-auth-options.ts";
import { type ReferenceResponse, recordResponse } from "./servers/reference-response.ts";
import { startPeer } from "./servers/start-peer.ts";
import { firstOf, type Progress, type Subject, startVerifiedPeer, withServer } from "./subject.ts";
import { manyKeys, millionKeys, startLatchkey } from "./subjects.ts";

/** In the order of the report and of each round. */
export const verificationNames = [
  "verify:one",
  "verify:one-limit",
  "verify:one-limits",
  "verify:one-credits",
  "verify:many",
  "verify:many-limit",
  "verify:many-limits",
  "verify:many-credits",
  "verify-batch:one",
  "verify-batch:one-limit",
  "verify-batch:one-limits",
  "verify-batch:one-credits",
  "verify-batch:many",
  "verify-batch:many-limit",
  "verify-batch:many-limits",
  "verify-batch:many-credits",
  "better-auth:one",
  "better-auth:many",
] as const;

export type VerificationName = (typeof verificationNames)[number];

/** The verifications of one request to verify several keys. */
export const verificationsPerRequest = 100;

/**
 * With 256 connections, 25,600 verifications are in flight. If each writes the meters of another key, they take about 1.4 s on the
 * machine of the report, and their deadline is 1.5 s.
 */
const maxConnectionsOfMeteredBatches = 64;

const paths = { single: "/open/keys/verify", batch: "/open/keys/verify-batch" } as const;
const countIssuedKeySql = (keyspaceId: string): string => `
  select coalesce(sum(counter.use_count + coalesce(own.use_count, 0)), 0)::float8 as uses
  from issued_keys join key_counters counter on counter.key_id = issued_keys.id
  left join issued_key_uses own using (key_id) where keyspace_id = '${keyspaceId}'`;

/** None of these is ever reached. */
const limit = (name: string) => ({ name, quota: 1_000_000_000, windowSeconds: 86_400, appliesAlways: true });
const meters: Record<"plain" | "limit" | "limits" | "credits", Pick<KeyspaceSeed, "limits" | "credits">> = {
  plain: { limits: [], credits: null },
  limit: { limits: [limit("requests")], credits: null },
  limits: { limits: [limit("requests"), limit("tokens"), limit("uploads")], credits: null },
  credits: { limits: [], credits: 1_000_000_000_000 },
};
type Meters = keyof typeof meters;
const metersNames = ["plain", "limit", "limits", "credits"] as const satisfies readonly Meters[];

interface Case {
  readonly meters: Meters;
  readonly count: "one" | "many";
  readonly isBatch: boolean;
}

const cases: Record<Exclude<VerificationName, `better-auth:${string}`>, Case> = {
  "verify:one": { meters: "plain", count: "one", isBatch: false },
  "verify:one-limit": { meters: "limit", count: "one", isBatch: false },
  "verify:one-limits": { meters: "limits", count: "one", isBatch: false },
  "verify:one-credits": { meters: "credits", count: "one", isBatch: false },
  "verify:many": { meters: "plain", count: "many", isBatch: false },
  "verify:many-limit": { meters: "limit", count: "many", isBatch: false },
  "verify:many-limits": { meters: "limits", count: "many", isBatch: false },
  "verify:many-credits": { meters: "credits", count: "many", isBatch: false },
  "verify-batch:one": { meters: "plain", count: "one", isBatch: true },
  "verify-batch:one-limit": { meters: "limit", count: "one", isBatch: true },
  "verify-batch:one-limits": { meters: "limits", count: "one", isBatch: true },
  "verify-batch:one-credits": { meters: "credits", count: "one", isBatch: true },
  "verify-batch:many": { meters: "plain", count: "many", isBatch: true },
  "verify-batch:many-limit": { meters: "limit", count: "many", isBatch: true },
  "verify-batch:many-limits": { meters: "limits", count: "many", isBatch: true },
  "verify-batch:many-credits": { meters: "credits", count: "many", isBatch: true },
};

/** Prepares the data of these subjects: one database for all of Latchkey's, with a keyspace for each kind of meters. */
export async function prepareVerifications(
  cluster: BenchCluster,
  names: readonly string[],
  { say, signal }: Progress,
): Promise<Subject[]> {
  const address = await cluster.createDatabase("verify");
  const secrets = metersNames.map(() => createSecrets(manyKeys));
  say(`storing ${millionKeys.toLocaleString("en")} issued keys`);
  const { apiKey, keyspaceIds } = await seedKeyspaces(address, {
    keyspaces: metersNames.map((name, index) => ({ ...meters[name], secrets: secrets[index] ?? [] })),
    storedKeys: millionKeys,
  });
  const subjects: Subject[] = [];
  for (const name of verificationNames.filter((known) => names.includes(known))) {
    signal.throwIfAborted();
    if (name === "better-auth:one" || name === "better-auth:many") continue;
    const { meters, count, isBatch } = cases[name];
    const index = metersNames.indexOf(meters);
    const keys = (secrets[index] ?? []).slice(0, count === "one" ? 1 : manyKeys).map(({ secret }) => secret);
    const load = isBatch ? { path: paths.batch, requests: batchesOf(apiKey, keys) } : singlesOf(apiKey, keys);
    subjects.push({
      ...(await withReference(address, load)),
      name,
      usesPerRequest: isBatch ? verificationsPerRequest : 1,
      ...(isBatch &&
        count === "many" &&
        meters !== "plain" && { maxConnections: maxConnectionsOfMeteredBatches }),
      store: { address, countSql: countIssuedKeySql(keyspaceIds[index] ?? "") },
      remembersKeys: true,
      start: () => startLatchkey(address),
    });
  }
  const single = await withReference(address, singlesOf(apiKey, [secrets[0]?.[0]?.secret ?? ""]));
  for (const [name, count] of [
    ["better-auth:one", 1],
    ["better-auth:many", manyKeys],
  ] as const) {
    if (!names.includes(name)) continue;
    signal.throwIfAborted();
    say(`storing ${count.toLocaleString("en")} keys for ${name}`);
    subjects.push(await prepareBetterAuth(await cluster.createDatabase(name), name, count, single));
  }
  return subjects;
}

type Load = Pick<Subject, "path" | "requests">;
type LoadWithReference = Load & Pick<Subject, "startReference"> & { readonly response: ReferenceResponse };

/** Records Latchkey's response to the first request, which bare Koa returns to all of them. */
async function withReference(address: DatabaseConnection, load: Load): Promise<LoadWithReference> {
  const response = await withServer(
    () => startLatchkey(address),
    ({ baseUrl }) => recordResponse(baseUrl + load.path, firstOf(load.requests)),
  );
  if (!response.body.includes('"valid":true')) throw new Error(`A key isn't valid: ${response.body}`);
  return { ...load, response, startReference: () => startVerifiedPeer("koa-post.ts", { ...load, response }) };
}

async function prepareBetterAuth(
  address: DatabaseConnection,
  name: string,
  count: number,
  { path, response, startReference }: LoadWithReference,
): Promise<Subject> {
  const keys = Array.from({ length: count }, () => createApiKey().secret);
  await seedBetterAuth(address, keys);
  return {
    name,
    path,
    requests: singlesOf("none", keys).requests,
    usesPerRequest: 1,
    store: {
      address,
      countSql: `select coalesce(sum("requestCount"), 0)::float8 as uses from apikey`,
    },
    maxRejectedShare: betterAuthMaxRejectedShare,
    remembersKeys: false,
    start: () => startPeer("better-auth-post.ts", { response, database: address }),
    startReference,
  };
}

function singlesOf(apiKey: string, keys: readonly string[]): Load {
  return {
    path: paths.single,
    requests: keys.map((key) => ({ key: apiKey, body: JSON.stringify({ key }) })),
  };
}

/** Each request verifies the next keys; the same key several times if there is one. */
function batchesOf(apiKey: string, keys: readonly string[]): LoadRequest[] {
  const count = Math.max(1, keys.length / verificationsPerRequest);
  return Array.from({ length: count }, (_, request) => {
    const verifications = Array.from({ length: verificationsPerRequest }, (_, index) => ({
      key: keys[(request * verificationsPerRequest + index) % keys.length],
    }));
    return { key: apiKey, body: JSON.stringify({ verifications }) };
  });
}
