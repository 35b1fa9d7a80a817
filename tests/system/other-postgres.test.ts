import { createHash } from "node:crypto";
import { once } from "node:events";
import { access, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import { callApi, createKeyspace, type IssuedKey, issueKey, pathOf } from "../support/keyspace.ts";
import { createDirectory, type ProductNode, spawnNode, startNode } from "../support/product.ts";
import { untilAnswered } from "../support/until-answered.ts";
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
  const response = await untilAnswered(() =>
    fetch(`${node?.baseUrl}/trpc/${procedure}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Cookie: cookie },
      body: JSON.stringify(input),
    }),
  );
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
  let sent = 0;
  const me = async (node: ProductNode | undefined) => {
    const response = await untilAnswered(() => {
      sent += 1;
      return fetch(`${node?.baseUrl}/open/me`, { headers: { Authorization: `Bearer ${key}` } });
    });
    return { status: response.status, body: (await response.json()) as { key?: { usageCount: number } } };
  };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => me(index % 2 ? first : second)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
  const counted = (await me(second)).body.key?.usageCount;
  expect(counted).toBeGreaterThanOrEqual(101);
  // A request that got 503 on a busy machine may have been counted. Without one, exactly 101 requests were sent.
  expect(counted).toBeLessThanOrEqual(sent);
  await call(second, "apiKeys.delete", { id }, cookie);
  expect([(await me(first)).status, (await me(second)).status]).toEqual([403, 403]);
});

test("issued keys are verified, spent on both nodes, listed, imported, counted and deleted", async () => {
  const [first, second] = nodes;
  const keyspace = await createKeyspace(
    first?.baseUrl ?? "",
    await signUp(first?.baseUrl ?? "", "grace@example.com"),
  );
  const elsewhere = { ...keyspace, baseUrl: second?.baseUrl ?? "" };
  const limit = (name: string) => ({ name, quota: 3, windowSeconds: 86_400 });
  const plain = await issueKey(keyspace, {
    name: "plain",
    externalId: "acme",
    permissions: ["documents.read"],
  });
  const limited = await issueKey(keyspace, { limits: ["reads", "writes", "uploads"].map(limit) });
  const credited = await issueKey(keyspace, {
    credits: { remaining: 5, refill: { amount: 5, interval: "monthly", day: 31 } },
  });
  const verify = async ({ key }: Pick<IssuedKey, "key">, settings: object = {}): Promise<string> =>
    (await callApi<{ code: string }>(elsewhere, ["POST", "/keys/verify"], { key, ...settings })).code;

  expect(await verify(plain, { permissions: "documents.read" })).toBe("VALID");
  expect(await verify(plain, { permissions: "documents.write" })).toBe("INSUFFICIENT_PERMISSIONS");
  for (const code of ["VALID", "VALID", "VALID", "RATE_LIMITED"]) expect(await verify(limited)).toBe(code);
  const batch = { verifications: [plain, credited, credited].map(({ key }) => ({ key, cost: 2 })) };
  const { data } = await callApi<{ data: readonly { code: string }[] }>(
    keyspace,
    ["POST", "/keys/verify-batch"],
    batch,
  );
  expect(data.map(({ code }) => code)).toEqual(["VALID", "VALID", "VALID"]);
  expect(await verify(credited, { cost: 2 })).toBe("USAGE_EXCEEDED");
  const list = async (query: string): Promise<readonly string[]> =>
    (
      await callApi<{ data: readonly { id: string }[] }>(elsewhere, [
        "GET",
        `${pathOf(keyspace)}/keys?${query}`,
      ])
    ).data.map(({ id }) => id);
  for (const query of [
    "name=PL",
    "externalId=acme",
    "permission=documents.read",
    `start=${plain.key.slice(0, 8)}`,
  ])
    expect(await list(query)).toContain(plain.id);
  expect(await list("status=active")).toEqual([plain.id, limited.id, credited.id]);

  const file = join(directory, "keys.csv");
  const secret = "a key of an earlier system";
  await writeFile(file, `hash,name\n${createHash("sha256").update(secret).digest("hex")},Imported\n`);
  const variables = { DATABASE_URL: postgres.databaseUrl, AUTH_SECRET, DATA_DIR: dataDirectory };
  const imported = await runCommandInProcess(["import", "keys", file, "--keyspace", keyspace.id], variables);
  expect(imported.status).toBe(0);
  expect(await verify({ key: secret })).toBe("VALID");

  const [from, to] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
  const period = `from=${from}&to=${to}&bucket=hour`;
  const readUsage = async () => {
    const { data: groups } = await callApi<{ data: readonly { value: string; count: number }[] }>(keyspace, [
      "GET",
      `${pathOf(keyspace)}/usage?groupBy=outcome&${period}`,
    ]);
    return Object.fromEntries(groups.map(({ value, count }) => [value, count]));
  };
  await expect
    .poll(readUsage)
    .toEqual({ VALID: 8, INSUFFICIENT_PERMISSIONS: 1, RATE_LIMITED: 1, USAGE_EXCEEDED: 1 });
  await callApi(keyspace, ["DELETE", pathOf(keyspace)]);
  expect(await verify(plain)).toBe("NOT_FOUND");
});

test("a role that can't create tables gets one clear sentence", async () => {
  const node = spawnNode({ DATABASE_URL: postgres.visitorUrl, AUTH_SECRET, DATA_DIR: dataDirectory });
  const [stderr, [status]] = await Promise.all([text(node.stderr as Readable), once(node, "exit")]);
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^Latchkey cannot start\. The database cannot be brought up to date: permission denied.*\.\n$/,
  );
});
