import { once } from "node:events";
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDirectory, type ProductNode, spawnNode, startNode } from "../support/product.ts";
import { type DebianPostgres, startDebianPostgres } from "./debian-postgres.ts";

const AUTH_SECRET = "a secret for tests, of 32 letters or more";

let postgres: DebianPostgres;
let directory: string;
let dataDirectory: string;
const nodes: ProductNode[] = [];

beforeAll(async () => {
  postgres = await startDebianPostgres();
  directory = await createDirectory();
  dataDirectory = join(directory, "data");
  const variables = {
    DATABASE_URL: postgres.databaseUrl,
    AUTH_SECRET,
    DATA_DIR: dataDirectory,
  };
  // Two nodes start at the same time on a database without a schema.
  nodes.push(...(await Promise.all([startNode(variables), startNode(variables)])));
});
afterAll(async () => {
  for (const node of nodes) await node.stop();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
});

async function call(node: ProductNode | undefined, procedure: string, input: unknown, cookie = "") {
  const response = await fetch(`${node?.baseUrl}/trpc/${procedure}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Cookie: cookie },
    body: JSON.stringify(input),
  });
  const { result } = (await response.json()) as { result: { data: { id: string; key: string } } };
  return { ...result.data, cookie: response.headers.getSetCookie().join("; ") };
}

test("runs on an older Postgres with a role that owns its database and isn't a superuser, and creates no embedded one", async () => {
  expect(postgres.version).toBeGreaterThanOrEqual(15);
  expect(postgres.version).toBeLessThan(18);
  await expect(access(join(dataDirectory, "postgres"))).rejects.toThrow();
});

test("a key created on one node is admitted, counted and deleted on both", async () => {
  const [first, second] = nodes;
  const account = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
  const { cookie } = await call(first, "session.signUp", account);
  const { id, key } = await call(first, "apiKeys.create", { name: "CI" }, cookie);
  const me = async (node: ProductNode | undefined) => {
    const response = await fetch(`${node?.baseUrl}/open/me`, { headers: { Authorization: `Bearer ${key}` } });
    return { status: response.status, body: (await response.json()) as { key?: { usageCount: number } } };
  };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => me(index % 2 ? first : second)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
  expect((await me(second)).body.key?.usageCount).toBe(101);
  await call(second, "apiKeys.delete", { id }, cookie);
  expect([(await me(first)).status, (await me(second)).status]).toEqual([403, 403]);
});

test("a role that can't create tables gets one clear sentence", async () => {
  const node = spawnNode({ DATABASE_URL: postgres.visitorUrl, AUTH_SECRET, DATA_DIR: dataDirectory });
  const [stderr, [status]] = await Promise.all([text(node.stderr as Readable), once(node, "exit")]);
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^Latchkey cannot start\. The database cannot be brought up to date: permission denied.*\.\n$/,
  );
});
