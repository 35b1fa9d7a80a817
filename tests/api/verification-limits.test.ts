import { afterAll, beforeAll, expect, test } from "vitest";
import { effort } from "../support/effort.ts";
import {
  callApi,
  createKeyspace,
  type IssuedKey,
  issueKey,
  type Keyspace,
  pathOf,
  readCounter,
} from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Fifty times as many verifications as a meter allows arrive at two nodes at the same time.

/** What the meter allows. */
const allowed = 10;
const requests = 50 * allowed;
const perHour = { name: "requests", quota: allowed, windowSeconds: 3_600 };

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

/** Verifies the keys in equal shares, each request on a connection of its own, all at the same time. */
async function verifyAtOnce(keys: readonly IssuedKey[], settings: object = {}): Promise<readonly Outcome[]> {
  const loads = keys.map(({ key }) =>
    startLoad({
      baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
      key: keyspace.callerKey,
      connections: requests / keys.length,
      requests: requests / keys.length,
      path: "/open/keys/verify",
      body: { key, ...settings },
    }),
  );
  await Promise.all(loads.map(({ ended }) => ended));
  return loads.flatMap(({ outcomes }) => outcomes);
}

type Result = Pick<Outcome, "baseUrl" | "code">;

const count = (results: readonly Result[], code: string): number =>
  results.filter((result) => result.code === code).length;

/** Expects that exactly as many verifications were spent as the meter allows, and that no more were granted. */
async function expectExact(
  what: string,
  {
    results,
    keys,
    rejection,
  }: { readonly results: readonly Result[]; readonly keys: readonly IssuedKey[]; readonly rejection: string },
): Promise<void> {
  const granted = count(results, "VALID");
  const rejected = count(results, rejection);
  const connection = await connectionTo(nodes.instance.cluster);
  const counters = await Promise.all(keys.map((key) => readCounter(connection, key)));
  const spent = counters.reduce((sum, { uses }) => sum + uses, 0);
  console.info(`${what}: ${granted} of ${results.length} granted, ${rejected} rejected, ${spent} spent`);
  expect(granted + rejected).toBe(requests);
  expect(new Set(results.map(({ baseUrl }) => baseUrl)).size).toBe(2);
  expect(spent).toBe(allowed);
  expect(granted).toBe(allowed);
}

/** Each round uses new keys, which no node has looked up. */
const rounds = Array.from({ length: 2 * effort }, (_, index) => index + 1);

test.each([
  ["a rate limit", { limits: [perHour] }, {}, "RATE_LIMITED"],
  [
    "a rate limit that requests name",
    { limits: [{ ...perHour, appliesAlways: false }] },
    { limits: [{ name: "requests" }] },
    "RATE_LIMITED",
  ],
  [
    "the lowest of three rate limits, with credits",
    {
      limits: [
        { ...perHour, name: "first", quota: 3 * allowed },
        { ...perHour, name: "second" },
        { ...perHour, name: "third", quota: 2 * allowed },
      ],
      credits: { remaining: 2 * allowed },
    },
    {},
    "RATE_LIMITED",
  ],
  ["credits", { credits: { remaining: allowed } }, {}, "USAGE_EXCEEDED"],
  // A remainder that is lower than the cost is not spent.
  ["credits, at a cost of 3", { credits: { remaining: 3 * allowed + 2 } }, { cost: 3 }, "USAGE_EXCEEDED"],
] as const)("%s allows exactly its quota on two nodes", async (what, settings, request, rejection) => {
  for (const round of rounds) {
    const issued = await issueKey(keyspace, settings);
    const results = await verifyAtOnce([issued], request);
    await expectExact(`${what}, round ${round}`, { results, keys: [issued], rejection });
  }
});

test("the limit of a consumer allows exactly its quota on two nodes, whichever of its keys is used", async () => {
  for (const round of rounds) {
    const consumer = `customer ${round}`;
    const keys: IssuedKey[] = [];
    for (let index = 0; index < 20; index += 1) keys.push(await issueKey(keyspace, { externalId: consumer }));
    const path = `${pathOf(keyspace)}/consumers/${encodeURIComponent(consumer)}`;
    await callApi(keyspace, ["PATCH", path], { limits: [perHour] });
    const results = await verifyAtOnce(keys);
    await expectExact(`consumer of ${keys.length} keys, round ${round}`, {
      results,
      keys,
      rejection: "RATE_LIMITED",
    });
  }
});

test("the credits of a key allow exactly their balance in batches on two nodes", async () => {
  const perBatch = 25;
  for (const round of rounds) {
    const issued = await issueKey(keyspace, { credits: { remaining: allowed } });
    const body = { verifications: Array.from({ length: perBatch }, () => ({ key: issued.key })) };
    const batches = await Promise.all(
      Array.from({ length: requests / perBatch }, (_, index) =>
        verifyBatch(index % 2 === 0 ? nodes.left.baseUrl : nodes.right.baseUrl, body),
      ),
    );
    await expectExact(`credits in batches, round ${round}`, {
      results: batches.flat(),
      keys: [issued],
      rejection: "USAGE_EXCEEDED",
    });
  }
});

/** Returns one result per verification; that of the request for each if it failed. */
async function verifyBatch(
  baseUrl: string,
  body: { readonly verifications: readonly object[] },
): Promise<readonly Result[]> {
  const response = await fetch(`${baseUrl}/open/keys/verify-batch`, {
    method: "POST",
    headers: { Authorization: `Bearer ${keyspace.callerKey}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as {
    readonly data?: readonly { readonly code: string }[];
    readonly error?: { readonly code: string };
  }; // The endpoint's response, or an error.
  return body.verifications.map((_, index) => ({ baseUrl, code: data?.[index]?.code ?? error?.code }));
}
