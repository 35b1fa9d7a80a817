import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Account,
  callProcedure,
  createKey,
  deleteKey,
  findSignedIn,
  signIn,
  signUp,
} from "../support/account.ts";
import { open, readUses } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import { countAnswered, countStatuses, verifyCounts } from "../support/request-counts.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { skewClock } from "./skewed-clock.ts";

// Three nodes on one database. Their clocks are correct, one hour ahead and one hour behind. Postgres's clock is
// correct, because the node with the correct clock started it.

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The tolerance of times, in milliseconds. */
const closeMs = 10_000;

interface NodeWithClock {
  readonly clock: "right" | "an hour ahead" | "an hour behind";
  readonly offMs: number;
  readonly node: ProductNode;
}

let instance: TestInstance;
let nodes: readonly NodeWithClock[];
let account: Account;

beforeAll(async () => {
  instance = await createTestInstance();
  const right = await instance.start();
  const [ahead, behind] = await Promise.all(
    [1, -1].map(async (hours) => instance.start(await skewClock(hours))),
  );
  if (!ahead || !behind) throw new Error("Not every node was started.");
  nodes = [
    { clock: "right", offMs: 0, node: right },
    { clock: "an hour ahead", offMs: hourMs, node: ahead },
    { clock: "an hour behind", offMs: -hourMs, node: behind },
  ];
  // The first account is the only operator, who can't be disabled.
  await signUp(right.baseUrl, "operator@example.com");
  account = await signUp(right.baseUrl);
});

afterAll(async () => {
  await instance?.close();
});

interface Listed {
  readonly id: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly usageCount: number;
}

async function listKeys({ node }: NodeWithClock): Promise<readonly Listed[]> {
  const call = {
    path: "apiKeys.list",
    kind: "query",
    input: { pageSize: 100 },
    cookie: account.cookie,
  } as const;
  const { data, code } = await callProcedure(node.baseUrl, call);
  if (!data) throw new Error(`The keys were not listed: ${code}`);
  return (data as { items: readonly Listed[] }).items; // The router's type for this procedure.
}

/** Returns the status of a request with the key, by node. */
const verdicts = (key: string): Promise<readonly number[]> =>
  Promise.all(nodes.map(async ({ node }) => (await callOpen(node.baseUrl, key)).status));

/** Changes the account's sessions in the database. */
async function changeSessions(statement: string): Promise<void> {
  const client = await open(await connectionTo(instance.cluster));
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

test("the clocks of the nodes are an hour apart", async () => {
  for (const { node, offMs } of nodes) {
    const { headers } = await fetch(`${node.baseUrl}/healthz`);
    const offsetMs = Date.parse(headers.get("Date") ?? "") - Date.now();
    expect(Math.abs(offsetMs - offMs)).toBeLessThan(closeMs);
  }
});

test("a key created on any node is valid on all, until any node deletes it", async () => {
  for (const maker of nodes) {
    for (const deleter of nodes) {
      const { id, key } = await createKey(
        maker.node.baseUrl,
        account,
        `made on the node that is ${maker.clock}`,
      );
      expect(await verdicts(key)).toEqual([200, 200, 200]);
      const [made] = await listKeys(maker);
      expect(made?.id).toBe(id);
      expect(Math.abs(Date.parse(made?.createdAt ?? "") - Date.now())).toBeLessThan(closeMs);
      await deleteKey(deleter.node.baseUrl, account, id);
      expect(await verdicts(key)).toEqual([403, 403, 403]);
    }
  }
});

test("the last use of a key has the database's time, and never goes back", async () => {
  const { id, key } = await createKey(nodes[0]?.node.baseUrl ?? "", account, "last use");
  let before = 0;
  for (let round = 0; round < 15; round += 1) {
    const user = nodes[round % nodes.length];
    const reader = nodes[(round + 1) % nodes.length];
    if (!user || !reader) throw new Error("There are three nodes.");
    expect((await callOpen(user.node.baseUrl, key)).status).toBe(200);
    const listed = (await listKeys(reader)).find((item) => item.id === id);
    const lastUsedAt = Date.parse(listed?.lastUsedAt ?? "");
    expect(Math.abs(lastUsedAt - Date.now())).toBeLessThan(closeMs);
    expect(lastUsedAt).toBeGreaterThanOrEqual(before);
    expect(listed?.usageCount).toBe(round + 1);
    before = lastUsedAt;
  }
});

test("concurrent uses on all nodes are counted exactly", async () => {
  const { id, key } = await createKey(nodes[1]?.node.baseUrl ?? "", account, "counted");
  const baseUrls = nodes.map(({ node }) => node.baseUrl);
  const load = startLoad({ baseUrls, key, connections: 48, requests: 3_000 });
  await load.ended;
  const counted = await readUses(await connectionTo(instance.cluster), id);
  const answered = countAnswered(load.outcomes);
  verifyCounts("clocks an hour off", { answered, counted, received: load.sent() });
  expect(countStatuses(load.outcomes)).toEqual({ 200: load.outcomes.length });
  expect(counted).toBe(answered);
});

test("disabling a user applies to all nodes immediately, and so does enabling", async () => {
  const { key } = await createKey(nodes[2]?.node.baseUrl ?? "", account, "disabled");
  expect(await verdicts(key)).toEqual([200, 200, 200]);
  expect((await instance.command(["user", "disable", account.email])).status).toBe(0);
  expect(await verdicts(key)).toEqual([403, 403, 403]);
  for (const { node } of nodes) expect(await findSignedIn(node.baseUrl, account)).toBeUndefined();
  expect((await instance.command(["user", "enable", account.email])).status).toBe(0);
  expect(await verdicts(key)).toEqual([200, 200, 200]);
  const { cookie = "" } = await signIn(nodes[0]?.node.baseUrl ?? "", account);
  account = { ...account, cookie };
});

test("a session opened on any node is valid on all, for the same time", async () => {
  await changeSessions("delete from sessions");
  for (const opener of nodes) {
    const { cookie = "" } = await signIn(opener.node.baseUrl, account);
    const opened = { ...account, cookie };
    for (const { node } of nodes) expect(await findSignedIn(node.baseUrl, opened)).toBe(account.email);
  }
  const client = await open(await connectionTo(instance.cluster));
  const { rows } = await client.query<{ offMs: number }>(`
    select extract(epoch from expires_at - clock_timestamp())::float8 * 1000 - ${14 * dayMs} as "offMs"
    from sessions`);
  await client.end();
  expect(rows).toHaveLength(nodes.length);
  for (const { offMs } of rows) expect(Math.abs(offMs)).toBeLessThan(closeMs);
});

test.each(["right", "an hour ahead", "an hour behind"] as const)(
  "the node whose clock is %s ends a session by the database's clock",
  async (clock) => {
    const judge = nodes.find((node) => node.clock === clock);
    if (!judge) throw new Error("There is no such node.");
    const { cookie = "" } = await signIn(judge.node.baseUrl, account);
    const opened = { ...account, cookie };
    await changeSessions("update sessions set expires_at = clock_timestamp() + interval '30 minutes'");
    expect(await findSignedIn(judge.node.baseUrl, opened)).toBe(account.email);
    // The use has renewed it.
    await changeSessions("update sessions set expires_at = clock_timestamp() - interval '30 minutes'");
    expect(await findSignedIn(judge.node.baseUrl, opened)).toBeUndefined();
  },
);
