import { afterAll, beforeAll, expect, test } from "vitest";
import { watchDeadlocks } from "../support/deadlocks.ts";
import {
  callApi,
  createKeyspace,
  type IssuedKey,
  issueKey,
  type Keyspace,
  pathOf,
  sendIdempotently,
} from "../support/keyspace.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes rotate the same issued keys together and one by one, while some of them are deleted and all of them are verified.

let nodes: TwoNodes;
let left: Keyspace;
let right: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
  left = await createKeyspace(nodes.left.baseUrl, nodes.account);
  right = { ...left, baseUrl: nodes.right.baseUrl };
});
afterAll(async () => {
  await nodes?.close();
});

interface Rotated {
  readonly id: string;
  readonly key?: string;
  readonly secretStatus: "issued" | "reissued" | "omitted";
}

type Reply = Rotated & { readonly code?: string; readonly rotated?: readonly Rotated[] };

/** Calls the open API of a node. */
const send = (node: Keyspace, request: readonly [method: string, path: string], body?: object) =>
  sendIdempotently<Reply>(node, request, { body });

/** Returns the code of a verification of a secret without spending anything. */
async function verify(node: Keyspace, key: string): Promise<string | undefined> {
  return (await send(node, ["POST", "/keys/verify"], { key, cost: 0 })).body.code;
}

test("rotations of all keys, of single keys and deletions at the same time have no deadlock, and lose no change", async () => {
  const deadlocks = await watchDeadlocks(nodes.instance.cluster);
  try {
    for (let round = 0; round < 3; round += 1) await changeEverything(`customer-${round}`);
    expect(await deadlocks.finish()).toBe(0);
  } finally {
    await deadlocks.close();
  }
});

async function changeEverything(externalId: string): Promise<void> {
  const keys: IssuedKey[] = [];
  for (let count = 0; count < 10; count += 1) keys.push(await issueKey(left, { externalId }));
  const ids = keys.map(({ id }) => id);
  const secretsOf = new Map(keys.map(({ id, key }) => [id, [key]]));
  // Replaced again because a node was too busy to respond to the first request.
  const reissued: string[] = [];
  const add = ({ id, key, secretStatus }: Rotated) => {
    if (key) secretsOf.get(id)?.push(key);
    if (secretStatus === "reissued") reissued.push(id);
  };
  const rotateAll = async (node: Keyspace, choice: object) => {
    const body = { ...choice, overlapSeconds: 3_600 };
    const reply = await send(node, ["POST", `${pathOf(node)}/keys/rotate`], body);
    expect(reply.status).toBe(200);
    for (const rotated of reply.body.rotated ?? []) add(rotated);
  };
  const rotateOne = async (node: Keyspace, id = "") => {
    const reply = await send(node, ["POST", `${pathOf(node)}/keys/${id}/rotate`], { overlapSeconds: 3_600 });
    expect([200, 404]).toContain(reply.status);
    if (reply.status === 200) add(reply.body);
  };
  const deleted = ids.slice(0, 3);
  // The single rotations are in both orders, so that each meets a rotation of all keys before and after its own key.
  await Promise.all([
    rotateAll(left, { externalId }),
    rotateAll(right, { keyIds: ids.toReversed() }),
    ...ids.map((id) => rotateOne(left, id)),
    ...ids.toReversed().map((id) => rotateOne(right, id)),
    ...deleted.slice(0, 2).map((id) => send(right, ["DELETE", `${pathOf(right)}/keys/${id}`])),
    send(left, ["POST", `${pathOf(left)}/keys/bulk`], { action: "delete", keyIds: deleted.slice(2) }),
    ...keys.map(({ key }) => verify(left, key)),
  ]);
  for (const [id, secrets] of secretsOf) {
    const isDeleted = deleted.includes(id);
    expect(new Set(secrets).size).toBe(secrets.length);
    for (const node of [left, right])
      for (const secret of secrets)
        expect([id, await verify(node, secret)]).toEqual([id, isDeleted ? "NOT_FOUND" : "VALID"]);
    if (isDeleted) continue;
    const key = await callApi<{ version: number; formerSecrets: readonly object[] }>(left, [
      "GET",
      `${pathOf(left)}/keys/${id}`,
    ]);
    // Two rotations of all keys, and two of its own.
    expect(key.formerSecrets).toHaveLength(4);
    // A reissue to which the node responded with 503 changed the version too.
    const reissuedCount = reissued.filter((other) => other === id).length;
    expect(key.version).toBeGreaterThanOrEqual(5 + reissuedCount);
  }
}

test("on both nodes, old secrets are valid exactly until their overlap ends, and a revoked one is rejected immediately", async () => {
  // On a busy machine, a short overlap can end before each key was verified once.
  for (const overlapSeconds of [5, 10, 20, 40]) if (await haveOverlap(overlapSeconds)) return;
  expect.fail("no key was verified during an overlap of 40 seconds");
});

/**
 * Expects that the old secrets of two keys are valid until their overlap ends, and that the new ones are rejected when they were revoked.
 * @returns whether each key was verified with its old secret during the overlap.
 */
async function haveOverlap(overlapSeconds: number): Promise<boolean> {
  const externalId = `overlapping-${overlapSeconds}`;
  const keys = [await issueKey(left, { externalId }), await issueKey(left, { externalId })] as const;
  // Both nodes remember the secrets.
  for (const node of [left, right]) for (const { key } of keys) expect(await verify(node, key)).toBe("VALID");
  const rotate = async (node: Keyspace, seconds: number) =>
    (await send(node, ["POST", `${pathOf(node)}/keys/rotate`], { externalId, overlapSeconds: seconds })).body
      .rotated ?? [];
  const rotated = await rotate(right, overlapSeconds);
  const goodUntil = await Promise.all(
    keys.map(async ({ id }) => {
      const path = `${pathOf(left)}/keys/${id}`;
      const { formerSecrets } = await callApi<{ formerSecrets: { goodUntil: string }[] }>(left, [
        "GET",
        path,
      ]);
      return Date.parse(formerSecrets[0]?.goodUntil ?? "");
    }),
  );
  // Postgres and the test have the same clock, so what was sent after the end is rejected, and what was answered before is valid.
  const outcomes = await Promise.all(
    [left, right].flatMap((node) =>
      keys.map(async ({ key }, index) => {
        const endMs = goodUntil[index] ?? 0;
        let validCount = 0;
        for (;;) {
          const sentAt = Date.now();
          const code = await verify(node, key);
          if (Date.now() < endMs) expect(code).toBe("VALID");
          // The time of the end is rounded down to a millisecond.
          if (sentAt > endMs) expect(code).toBe("NOT_FOUND");
          if (code !== "VALID") return { code, validCount };
          validCount += 1;
        }
      }),
    ),
  );
  for (const { code } of outcomes) expect(code).toBe("NOT_FOUND");
  for (const node of [left, right])
    for (const { key } of rotated) expect(await verify(node, String(key))).toBe("VALID");
  await rotate(left, 0);
  for (const node of [left, right])
    for (const { key } of rotated) expect(await verify(node, String(key))).toBe("NOT_FOUND");
  return outcomes.every(({ validCount }) => validCount > 0);
}
