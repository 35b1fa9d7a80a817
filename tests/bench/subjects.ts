import { createApiKey } from "@latchkey/auth/key-format";
import { encodeId } from "@latchkey/db/ids";
import { callOpen } from "../support/open-call.ts";
import { authSecret, startNode } from "../support/product.ts";
import { type BenchCluster, type DatabaseConnection, urlOf } from "./database/bench-cluster.ts";
import { seedBetterAuth } from "./database/seed-better-auth.ts";
import { addWorkspace, type Restrictions, seedLatchkey } from "./database/seed-latchkey.ts";
import { betterAuthMaxRejectedShare } from "./servers/better-auth-options.ts";
import {
  benchPath,
  type ReferenceResponse,
  recordResponse,
  requireSameResponse,
} from "./servers/reference-response.ts";
import { type RunningServer, startPeer } from "./servers/start-peer.ts";
import { firstOf, type Progress, type Subject, startVerifiedPeer, withServer } from "./subject.ts";

/**
 * In the order of the report and of each round. Subjects that are compared are measured shortly after one another.
 */
export const subjectNames = [
  "node:http",
  "koa",
  "latchkey:one",
  "latchkey:one-limited",
  "latchkey:many",
  "latchkey:many-limited",
  "latchkey:many-restricted",
  "latchkey:million",
  "latchkey:workspace",
  "latchkey:members",
  "better-auth:one",
  "better-auth:many",
] as const;

/** What the subjects request that don't request {@link benchPath}: an endpoint of a workspace. They read the database. */
const workspaceTargets: Readonly<Partial<Record<SubjectName, WorkspaceTarget>>> = {
  "latchkey:workspace": { suffix: "" },
  "latchkey:members": { suffix: "/members?limit=25", maxConnections: 64 },
};

interface WorkspaceTarget extends Pick<Subject, "maxConnections"> {
  /** What follows the path of the workspace. */
  readonly suffix: string;
}

export type SubjectName = (typeof subjectNames)[number];

export const manyKeys = 20_000;
export const millionKeys = 1_000_000;

/**
 * Prepares the data of these subjects.
 * @throws an Error if the response of a subject differs from Latchkey's, or if it accepts an unknown key.
 */
export async function prepareSubjects(
  cluster: BenchCluster,
  names: readonly string[],
  { say, signal }: Progress,
): Promise<Subject[]> {
  const secrets = Array.from({ length: manyKeys }, () => createApiKey().secret);
  const first = secrets.slice(0, 1);
  const datasets: Record<SubjectName, Pick<Preparation, "keys" | "storedKeys" | "restrictions">> = {
    "node:http": { keys: first, storedKeys: 0 },
    koa: { keys: first, storedKeys: 0 },
    "latchkey:one": { keys: first, storedKeys: 1 },
    "latchkey:many": { keys: secrets, storedKeys: manyKeys },
    "latchkey:million": { keys: secrets, storedKeys: millionKeys },
    "latchkey:workspace": { keys: secrets, storedKeys: manyKeys },
    "latchkey:members": { keys: secrets, storedKeys: manyKeys },
    "latchkey:one-limited": { keys: first, storedKeys: 1, restrictions: "limited" },
    "latchkey:many-limited": { keys: secrets, storedKeys: manyKeys, restrictions: "limited" },
    "latchkey:many-restricted": { keys: secrets, storedKeys: manyKeys, restrictions: "restricted" },
    "better-auth:one": { keys: first, storedKeys: 1 },
    "better-auth:many": { keys: secrets, storedKeys: manyKeys },
  };
  const response = await recordReference(cluster, secrets);
  const subjects: Subject[] = [];
  for (const name of subjectNames.filter((name) => names.includes(name))) {
    signal.throwIfAborted();
    const dataset = datasets[name];
    const { storedKeys } = dataset;
    if (storedKeys > 0) say(`storing ${storedKeys.toLocaleString("en")} keys for ${name}`);
    subjects.push(await prepareSubject(cluster, { name, ...dataset, response }));
  }
  return subjects;
}

interface Preparation {
  readonly name: SubjectName;
  readonly keys: readonly string[];
  readonly storedKeys: number;
  /** The restrictions of the keys; none by default. */
  readonly restrictions?: Restrictions;
  readonly response: ReferenceResponse;
}

async function prepareSubject(cluster: BenchCluster, preparation: Preparation): Promise<Subject> {
  const { name, keys, storedKeys, restrictions, response } = preparation;
  const path = benchPath;
  const requests = keys.map((key) => ({ key }));
  const startReference = () => startVerifiedPeer("koa.ts", { path, requests, response });
  const common = { name, path, requests, usesPerRequest: 1, startReference };
  if (name === "koa" || name === "node:http") {
    const script = name === "koa" ? "koa.ts" : "node-http.ts";
    return {
      ...common,
      store: undefined,
      remembersKeys: false,
      start: () => startVerifiedPeer(script, { path, requests, response }),
    };
  }
  const address = await cluster.createDatabase(name);
  if (name === "better-auth:one" || name === "better-auth:many") {
    await seedBetterAuth(address, keys);
    const countSql = `select coalesce(sum("requestCount"), 0)::float8 as uses from apikey`;
    const start = () => startPeer("better-auth.ts", { response, database: address });
    await withServer(start, async ({ baseUrl }) => {
      requireSameResponse(await recordResponse(baseUrl + path, firstOf(requests)), response);
      await requireRejection(baseUrl);
    });
    return {
      ...common,
      store: { address, countSql },
      maxRejectedShare: betterAuthMaxRejectedShare,
      remembersKeys: false,
      start,
    };
  }
  await seedLatchkey(address, { secrets: keys, storedKeys, restrictions });
  const countSql = "select coalesce(sum(use_count), 0)::float8 as uses from key_counters";
  const subject: Subject = {
    ...common,
    store: { address, countSql },
    remembersKeys: true,
    start: () => startLatchkey(address),
  };
  const target = workspaceTargets[name];
  return target ? await useWorkspace(subject, { address, target }) : subject;
}

/** Changes what a subject requests to an endpoint of a workspace, and compares it with a bare Koa that returns the same response. */
async function useWorkspace(
  subject: Subject,
  {
    address,
    target: { suffix, ...options },
  }: { readonly address: DatabaseConnection; readonly target: WorkspaceTarget },
): Promise<Subject> {
  const id = encodeId("workspace", await addWorkspace(address));
  const path = `/open/workspaces/${id}${suffix}`;
  const { requests } = subject;
  const response = await withServer(subject.start, ({ baseUrl }) =>
    recordResponse(baseUrl + path, firstOf(requests)),
  );
  return {
    ...subject,
    ...options,
    path,
    startReference: () => startVerifiedPeer("koa.ts", { path, requests, response }),
  };
}

/** Starts Latchkey as in production. */
export async function startLatchkey(address: DatabaseConnection): Promise<RunningServer> {
  return await startNode({ DATABASE_URL: urlOf(address), AUTH_SECRET: authSecret });
}

/** Records a response of Latchkey, which the peers then return. */
async function recordReference(
  cluster: BenchCluster,
  secrets: readonly string[],
): Promise<ReferenceResponse> {
  const address = await cluster.createDatabase("reference");
  await seedLatchkey(address, { secrets: secrets.slice(0, 1), storedKeys: 1 });
  const start = () => startLatchkey(address);
  return await withServer(start, async ({ baseUrl }) => {
    await requireRejection(baseUrl);
    return await recordResponse(baseUrl + benchPath, { key: secrets[0] ?? "" });
  });
}

/** @throws an Error if the server accepts a well-formed key that isn't stored. */
async function requireRejection(baseUrl: string): Promise<void> {
  const { status } = await callOpen(baseUrl, createApiKey().secret);
  if (status !== 403) throw new Error(`${baseUrl} returns ${status} for an unknown key.`);
}
