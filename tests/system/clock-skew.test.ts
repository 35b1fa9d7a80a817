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
import {
  createKeyspace,
  type IssuedKey,
  issuedKeyUuid,
  issueKey,
  type Keyspace,
  postUntilAnswered,
} from "../support/keyspace.ts";
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
let keyspace: Keyspace;

beforeAll(async () => {
  instance = await createTestInstance({}, { deadlines: "patient" });
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
  keyspace = await createKeyspace(right.baseUrl, account);
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

/** The part of the result of a verification that depends on time. */
interface Verified {
  readonly code: string;
  readonly credits: { readonly remaining: number } | null;
  readonly limits: readonly { readonly resetsInSeconds: number }[];
}

/** Verifies an issued key on a node. */
async function verify({ node }: Pick<NodeWithClock, "node">, { key }: IssuedKey): Promise<Verified> {
  const caller = { ...keyspace, baseUrl: node.baseUrl };
  return await postUntilAnswered<Verified>(caller, "/keys/verify", { key });
}

/** Returns the code of a verification on each node, one after the other. */
async function verifyOnEach(
  key: IssuedKey,
  on: readonly Pick<NodeWithClock, "node">[] = nodes,
): Promise<readonly string[]> {
  const codes: string[] = [];
  for (const node of on) codes.push((await verify(node, key)).code);
  return codes;
}

/** Changes rows in the database. */
async function changeRows(statement: string, values: readonly unknown[] = []): Promise<void> {
  const client = await open(await connectionTo(instance.cluster));
  try {
    await client.query(statement, [...values]);
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
  await changeRows("delete from sessions");
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
    await changeRows("update sessions set expires_at = clock_timestamp() + interval '30 minutes'");
    expect(await findSignedIn(judge.node.baseUrl, opened)).toBe(account.email);
    // The use has renewed it.
    await changeRows("update sessions set expires_at = clock_timestamp() - interval '30 minutes'");
    expect(await findSignedIn(judge.node.baseUrl, opened)).toBeUndefined();
  },
);

test("issued keys expire by the database's clock on every node", async () => {
  const halfAnHour = new Date(Date.now() + hourMs / 2).toISOString();
  // A node decides about keys without meters before the statement that counts, and about others after it has locked their meters.
  const cases = nodes.flatMap(({ node }) =>
    [{}, { credits: { remaining: 100 } }].map((meters) => ({ node, meters })),
  );
  await Promise.all(
    cases.map(async ({ node, meters }) => {
      const on = { ...keyspace, baseUrl: node.baseUrl };
      const valid = await issueKey(on, { expiresAt: halfAnHour, ...meters });
      expect(await verifyOnEach(valid)).toEqual(["VALID", "VALID", "VALID"]);
      const soon = new Date(Date.now() + closeMs / 2).toISOString();
      const expiring = await issueKey(on, { expiresAt: soon, ...meters });
      await expect.poll(async () => (await verify({ node }, expiring)).code).toBe("EXPIRED");
      expect(await verifyOnEach(expiring)).toEqual(["EXPIRED", "EXPIRED", "EXPIRED"]);
    }),
  );
});

test("a window of an issued key's limit that one node starts lasts equally long on every node", async () => {
  const windowSeconds = 1_800;
  const limits = [{ name: "requests", quota: 2, windowSeconds }];
  for (const starter of nodes) {
    const key = await issueKey(keyspace, { limits });
    const others = nodes.filter((node) => node !== starter);
    const first = await verify(starter, key);
    expect(first.code).toBe("VALID");
    const second = await verify(others[0] ?? starter, key);
    expect(second.code).toBe("VALID");
    const rejected = await Promise.all(nodes.map((node) => verify(node, key)));
    expect(rejected.map(({ code }) => code)).toEqual(["RATE_LIMITED", "RATE_LIMITED", "RATE_LIMITED"]);
    for (const { limits: shown } of [first, second, ...rejected]) {
      const resetsInSeconds = shown[0]?.resetsInSeconds ?? 0;
      expect(resetsInSeconds).toBeLessThanOrEqual(windowSeconds);
      expect(resetsInSeconds).toBeGreaterThan(windowSeconds - (3 * closeMs) / 1_000);
    }
  }
});

test("credits are refilled when the database's clock reaches midnight, on nodes whose clocks are on different days", async () => {
  const farNodes = await Promise.all(
    [25, -25].map(async (hours) => ({ node: await instance.start(await skewClock(hours)) })),
  );
  const everyNode = [...nodes, ...farNodes];
  const refill = { amount: 2, interval: "daily", day: null };
  for (const node of everyNode) {
    const key = await issueKey(keyspace, { credits: { remaining: 1, refill } });
    expect((await verify(node, key)).code).toBe("VALID");
    // No refill is due, even on a node whose clock is already on the next day.
    expect(await verifyOnEach(key, everyNode)).toEqual(everyNode.map(() => "USAGE_EXCEEDED"));
    await changeRows(
      "update key_counters set credits_refilled_at = credits_refilled_at - interval '1 day' where key_id = $1",
      [issuedKeyUuid(key.id)],
    );
    // The refill of the last midnight is due, even on a node whose clock is still on the previous day, and only once.
    expect(await verify(node, key)).toMatchObject({ code: "VALID", credits: { remaining: 1 } });
    expect((await verify(farNodes[0] ?? node, key)).code).toBe("VALID");
    expect(await verifyOnEach(key, everyNode)).toEqual(everyNode.map(() => "USAGE_EXCEEDED"));
  }
});
