import { createApiKey } from "@latchkey/auth/key-format";
import { callOpen } from "../support/open-call.ts";
import { authSecret, startNode } from "../support/product.ts";
import { type DatabaseAddress, type Ground, urlOf } from "./ground/ground.ts";
import { seedBetterAuth } from "./ground/seed-better-auth.ts";
import { type Bounds, seedLatchkey } from "./ground/seed-latchkey.ts";
import { type Answer, recordAnswer, requireSameAnswer } from "./servers/answer.ts";
import { type RunningServer, startPeer } from "./servers/start-peer.ts";

/** In the order of the report, and of each round: what is held against another is measured soon after it. */
export const subjectNames = [
  "node:http",
  "koa",
  "latchkey:one",
  "latchkey:one-limited",
  "latchkey:many",
  "latchkey:many-limited",
  "latchkey:many-narrowed",
  "latchkey:million",
  "better-auth:one",
  "better-auth:many",
] as const;

export type SubjectName = (typeof subjectNames)[number];

/** A server with what it holds: one row of the report. */
export interface Subject {
  readonly name: SubjectName;
  /** What the load presents, each as often as the others. */
  readonly keys: readonly string[];
  /** Where uses are counted; undefined for a server without a database. */
  readonly store: { readonly address: DatabaseAddress; readonly countSql: string } | undefined;
  /** Whether a node is to have met each key once before it is measured. */
  readonly remembersKeys: boolean;
  readonly start: () => Promise<RunningServer>;
}

/** All that is measured, and bare Koa, which all of it is held against. */
export interface Prepared {
  readonly subjects: readonly Subject[];
  readonly yardstick: Subject;
}

export const manyKeys = 20_000;
export const millionKeys = 1_000_000;

/**
 * Stores what the subjects named need, and makes them ready to be started.
 * @throws an Error when one of them answers something else than the product, or lets an unknown key pass.
 */
export async function prepareSubjects(
  ground: Ground,
  names: readonly SubjectName[],
  {
    say,
    signal,
  }: {
    /** Hears of what takes its time. */
    readonly say: (line: string) => void;
    readonly signal: AbortSignal;
  },
): Promise<Prepared> {
  const secrets = Array.from({ length: manyKeys }, () => createApiKey().secret);
  const first = secrets.slice(0, 1);
  const stocks: Record<SubjectName, Pick<Preparation, "keys" | "storedKeys" | "bounds">> = {
    "node:http": { keys: first, storedKeys: 0 },
    koa: { keys: first, storedKeys: 0 },
    "latchkey:one": { keys: first, storedKeys: 1 },
    "latchkey:many": { keys: secrets, storedKeys: manyKeys },
    "latchkey:million": { keys: secrets, storedKeys: millionKeys },
    "latchkey:one-limited": { keys: first, storedKeys: 1, bounds: "limited" },
    "latchkey:many-limited": { keys: secrets, storedKeys: manyKeys, bounds: "limited" },
    "latchkey:many-narrowed": { keys: secrets, storedKeys: manyKeys, bounds: "narrowed" },
    "better-auth:one": { keys: first, storedKeys: 1 },
    "better-auth:many": { keys: secrets, storedKeys: manyKeys },
  };
  const answer = await takeAnswer(ground, secrets);
  const subjects: Subject[] = [];
  for (const name of names) {
    signal.throwIfAborted();
    const stock = stocks[name];
    const { storedKeys } = stock;
    if (storedKeys > 0) say(`storing ${storedKeys.toLocaleString("en")} keys for ${name}`);
    subjects.push(await prepareSubject(ground, { name, ...stock, answer }));
  }
  const yardstick = await prepareSubject(ground, { name: "koa", ...stocks.koa, answer });
  await ground.admin.query("checkpoint");
  return { subjects, yardstick };
}

interface Preparation {
  readonly name: SubjectName;
  readonly keys: readonly string[];
  readonly storedKeys: number;
  /** What the keys are held to; nothing unless told. */
  readonly bounds?: Bounds;
  readonly answer: Answer;
}

async function prepareSubject(ground: Ground, preparation: Preparation): Promise<Subject> {
  const { name, keys, storedKeys, bounds, answer } = preparation;
  if (name === "koa" || name === "node:http") {
    const script = name === "koa" ? "koa.ts" : "node-http.ts";
    return {
      name,
      keys,
      store: undefined,
      remembersKeys: false,
      start: () => startSame(script, preparation),
    };
  }
  const address = await ground.createDatabase(name);
  if (name === "better-auth:one" || name === "better-auth:many") {
    await seedBetterAuth(address, keys);
    const countSql = `select coalesce(sum("requestCount"), 0)::float8 as uses from apikey`;
    const start = () => startPeer("better-auth.ts", { answer, database: address });
    await withServer(start, async ({ baseUrl }) => {
      requireSameAnswer(await recordAnswer(baseUrl, keys[0] ?? ""), answer);
      await requireRefusal(baseUrl);
    });
    return { name, keys, store: { address, countSql }, remembersKeys: false, start };
  }
  await seedLatchkey(address, { secrets: keys, storedKeys, bounds });
  const countSql = "select coalesce(sum(use_count), 0)::float8 as uses from key_counters";
  return {
    name,
    keys,
    store: { address, countSql },
    remembersKeys: true,
    start: () => startLatchkey(address),
  };
}

/** The product, exactly as it runs. */
async function startLatchkey(address: DatabaseAddress): Promise<RunningServer> {
  return await startNode({ DATABASE_URL: urlOf(address), AUTH_SECRET: authSecret });
}

/** A peer without a database, once it has proved that it answers what the product does. */
async function startSame(script: string, { answer, keys }: Preparation): Promise<RunningServer> {
  const peer = await startPeer(script, { answer });
  try {
    requireSameAnswer(await recordAnswer(peer.baseUrl, keys[0] ?? ""), answer);
    return peer;
  } catch (error) {
    await peer.stop();
    throw error;
  }
}

/** One real answer of the product's, which the others then give too. */
async function takeAnswer(ground: Ground, secrets: readonly string[]): Promise<Answer> {
  const address = await ground.createDatabase("answer");
  await seedLatchkey(address, { secrets: secrets.slice(0, 1), storedKeys: 1 });
  const start = () => startLatchkey(address);
  return await withServer(start, async ({ baseUrl }) => {
    await requireRefusal(baseUrl);
    return await recordAnswer(baseUrl, secrets[0] ?? "");
  });
}

/** Starts a server, and stops it when it has been used. */
export async function withServer<T>(
  start: () => Promise<RunningServer>,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await start();
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** @throws an Error when a well-formed key that nobody has stored is let through. */
async function requireRefusal(baseUrl: string): Promise<void> {
  const { status } = await callOpen(baseUrl, createApiKey().secret);
  if (status !== 403) throw new Error(`${baseUrl} answers an unknown key with ${status}.`);
}
