import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyspace, issueKey, type Keyspace, pathOf, sendIdempotently } from "../support/keyspace.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes verify an issued key that was rotated twice, and one of them revokes its old secrets.

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

interface Shown {
  readonly key: string;
  readonly code: string;
  readonly version: number;
  readonly formerSecrets: readonly { readonly start: string }[];
}

/** Calls the open API of a node. */
const call = (
  baseUrl: string,
  request: readonly [method: string, path: string],
  options: { readonly body?: object; readonly idempotencyKey?: string } = {},
) => sendIdempotently<Shown>({ ...keyspace, baseUrl }, request, options);

test("after old secrets are revoked, no node allows them, and the current secret stays valid", async () => {
  const { left, right } = nodes;
  const { id, key: first } = await issueKey(keyspace);
  const path = `${pathOf(keyspace)}/keys/${id}`;
  const rotate = async () => {
    const body = { overlapSeconds: 2_592_000 };
    return (await call(left.baseUrl, ["POST", `${path}/rotate`], { body })).body.key;
  };
  const second = await rotate();
  const third = await rotate();
  const codes = async () => {
    const found: string[] = [];
    for (const { baseUrl } of [left, right])
      for (const key of [first, second, third])
        found.push((await call(baseUrl, ["POST", "/keys/verify"], { body: { key } })).body.code);
    return found;
  };
  // Both nodes then remember each secret.
  expect(await codes()).toEqual(["VALID", "VALID", "VALID", "VALID", "VALID", "VALID"]);
  const before = await call(right.baseUrl, ["GET", path]);
  expect(before.body.formerSecrets).toHaveLength(2);

  const revocation = ["POST", `${path}/revoke-old-secrets`] as const;
  const idempotencyKey = randomUUID();
  const revoked = await call(right.baseUrl, revocation, { idempotencyKey });
  expect(await codes()).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID", "NOT_FOUND", "NOT_FOUND", "VALID"]);
  expect(revoked).toMatchObject({ status: 200, body: { formerSecrets: [], version: 4 } });
  expect(revoked.etag).not.toBe(before.etag);
  const after = await call(left.baseUrl, ["GET", path]);
  expect([after.etag, after.body.formerSecrets]).toEqual([revoked.etag, []]);

  const retried = await call(left.baseUrl, revocation, { idempotencyKey });
  expect(retried).toMatchObject({ status: 200, isReplayed: true, body: revoked.body });
  const repeated = await call(left.baseUrl, revocation);
  expect(repeated).toMatchObject({ status: 200, isReplayed: false, etag: revoked.etag });
  expect(await codes()).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID", "NOT_FOUND", "NOT_FOUND", "VALID"]);
});
