import { randomUUID } from "node:crypto";
import { startupOptions } from "@latchkey/db/connection";
import { createId } from "@latchkey/db/ids";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { sessionSettings } from "../admission/session-settings.ts";
import { digestKey } from "../key-format.ts";
import { type CopyLookup, findCopies } from "./find-copies.ts";
import type { Verification } from "./verification.ts";
import { setUpVerifierTests, type TestKeyspace, verificationOf } from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// Several workspaces store a key with the same secret.

const { addKey, addKeyspace, bumpOwner, database, execute, issueKey, openNode } = setUpVerifierTests();

/** Verifies a secret with a caller's key. Returns the ID of the key that was found for each verification. */
async function findKeys(
  node: Verifier,
  { caller }: Pick<TestKeyspace, "caller">,
  verifications: readonly Verification[],
): Promise<readonly (string | undefined)[]> {
  const { outcome } = await node.verify(caller.secret, {
    address: undefined,
    name: undefined,
    verifications,
  });
  if (outcome?.kind !== "verified") throw new Error("The request was not admitted.");
  return outcome.results.map((result) => (result.code === "NOT_FOUND" ? undefined : result.key.keyId));
}

/** Adds the owner of the caller's key to the workspace of a keyspace. */
async function join({ caller }: TestKeyspace, { workspaceId }: TestKeyspace, role = "member"): Promise<void> {
  await execute(
    sql`insert into members (workspace_id, user_id, role) values (${workspaceId}, ${caller.userId}, ${role})`,
  );
  await bumpOwner(caller.userId);
}

async function leave({ caller }: TestKeyspace, { workspaceId }: TestKeyspace): Promise<void> {
  await execute(sql`delete from members where workspace_id = ${workspaceId} and user_id = ${caller.userId}`);
  await bumpOwner(caller.userId);
}

/** Workspaces that store a key with this secret. */
async function storeElsewhere(secret: string, count: number): Promise<readonly TestKeyspace[]> {
  const spaces: TestKeyspace[] = [];
  for (let index = 0; index < count; index += 1) {
    const space = await addKeyspace();
    await issueKey(space, { secret });
    spaces.push(space);
  }
  return spaces;
}

describe("a key that 17 other workspaces stored before", async () => {
  test.each<[string, (space: TestKeyspace) => Partial<Verification>]>([
    ["no place", () => ({})],
    ["its workspace", ({ workspaceId }) => ({ workspaceId })],
    ["its keyspace", ({ keyspaceId }) => ({ keyspaceId })],
    ["both", ({ workspaceId, keyspaceId }) => ({ workspaceId, keyspaceId })],
  ])("is found by a request that names %s, on its own and in a batch", async (_case, placeOf) => {
    const secret = randomUUID();
    const others = await storeElsewhere(secret, 17);
    const space = await addKeyspace();
    const [key, another] = [await issueKey(space, { secret }), await issueKey(space)];
    const [verification, ofAnother] = [key, another].map((each) => verificationOf(each, placeOf(space)));
    if (!verification || !ofAnother) throw new Error("There are two.");
    const node = openNode();
    // The first time, the keys are read. The second time, they are remembered.
    for (let round = 0; round < 2; round += 1) {
      expect(await findKeys(node, space, [verification])).toEqual([key.id]);
      expect(await findKeys(node, space, [ofAnother, verification])).toEqual([another.id, key.id]);
    }
    // Others find their own, and a workspace without one finds none.
    const [foreign] = others;
    if (!foreign) throw new Error("There are 17.");
    expect(await findKeys(node, foreign, [verificationOf({ secret })])).not.toContain(key.id);
    expect(await findKeys(node, await addKeyspace(), [verificationOf({ secret })])).toEqual([undefined]);
    expect(await findKeys(openNode(), space, [ofAnother, verification])).toEqual([another.id, key.id]);
    const { workspaceId } = space;
    const outcome = await node.verifyWithoutKey("operator", { ...verificationOf(key), workspaceId });
    expect(outcome).toMatchObject({ results: [{ code: "VALID", key: { keyId: key.id } }] });
  });

  test("is found if the caller is a member of all of these workspaces, but may verify keys only in one", async () => {
    const secret = randomUUID();
    const others = await storeElsewhere(secret, 17);
    const space = await addKeyspace();
    const key = await issueKey(space, { secret });
    for (const [index, other] of others.entries()) {
      await join(space, other, index < 6 ? "viewer" : "member");
      if (index >= 6 && index < 12)
        await execute(sql`
          insert into workspace_key_access (workspace_id, key_id, blocked_at)
          values (${other.workspaceId}, ${space.caller.id}, now())`);
      if (index >= 12)
        await execute(sql`
          insert into api_key_policies (workspace_id, is_expiry_required) values (${other.workspaceId}, true)`);
    }
    const node = openNode();
    for (let round = 0; round < 2; round += 1)
      expect(await findKeys(node, space, [verificationOf({ secret })])).toEqual([key.id]);
  });

  test("is found if the caller may verify keys in all of these workspaces, but names one or is restricted to it", async () => {
    const secret = randomUUID();
    const others = await storeElsewhere(secret, 17);
    const space = await addKeyspace();
    const key = await issueKey(space, { secret });
    for (const other of others) await join(space, other, "member");
    const node = openNode();
    const { workspaceId } = space;
    const [oldest] = await findKeys(node, space, [verificationOf({ secret })]);
    expect(oldest).not.toBe(key.id);
    expect(await findKeys(node, space, [verificationOf({ secret }, { workspaceId })])).toEqual([key.id]);
    const restricted = { caller: await addKey(space.caller.userId) };
    await execute(
      sql`update api_keys set workspace_ids = array[${workspaceId}]::uuid[] where id = ${restricted.caller.id}`,
    );
    expect(await findKeys(node, restricted, [verificationOf({ secret })])).toEqual([key.id]);
    expect(await findKeys(node, space, [verificationOf({ secret })])).toEqual([oldest]);
  });
});

test("the oldest copy decides from the moment its workspace is joined, and no longer once it is left", async () => {
  const [older, space] = [await addKeyspace(), await addKeyspace()];
  const secret = randomUUID();
  const first = await issueKey(older, { secret });
  const second = await issueKey(space, { secret });
  const another = await issueKey(space);
  const node = openNode();
  const [copies, ofAnother] = [[verificationOf({ secret })], [verificationOf(another)]];
  // Both callers read the copies that they reach.
  expect(await findKeys(node, older, copies)).toEqual([first.id]);
  expect(await findKeys(node, space, copies)).toEqual([second.id]);
  for (let round = 0; round < 2; round += 1) {
    await join(space, older);
    // A request about another key reads the caller's current facts.
    if (round === 0) expect(await findKeys(node, space, ofAnother)).toEqual([another.id]);
    expect(await findKeys(node, space, copies)).toEqual([first.id]);
    expect(await findKeys(node, space, copies)).toEqual([first.id]);
    await leave(space, older);
    if (round === 0) expect(await findKeys(node, space, ofAnother)).toEqual([another.id]);
    expect(await findKeys(node, space, copies)).toEqual([second.id]);
    expect(await findKeys(node, older, copies)).toEqual([first.id]);
  }
  await leave(space, space);
  expect(await findKeys(node, space, copies)).toEqual([undefined]);
});

test("the older of two remembered copies decides, even if the caller's key was read again without its memberships", async () => {
  const [older, space] = [await addKeyspace(), await addKeyspace()];
  const secret = randomUUID();
  const first = await issueKey(older, { secret });
  await issueKey(space, { secret });
  const another = await issueKey(space);
  await join(space, older);
  const node = openNode();
  const copies = [verificationOf({ secret })];
  expect(await findKeys(node, space, copies)).toEqual([first.id]);
  // The caller's key is read again, without its membership in the older workspace.
  await bumpOwner(space.caller.userId);
  expect(await findKeys(node, space, [verificationOf(another)])).toEqual([another.id]);
  expect(await findKeys(node, space, copies)).toEqual([first.id]);
});

/** Counts the rows that a lookup reads of each table. */
async function countRowsOf(lookup: CopyLookup): Promise<Readonly<Record<string, number>>> {
  const options = startupOptions("latchkey_admission", sessionSettings);
  const client = new pg.Client({ ...testClientConfig(database().connection, "test"), options });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await findCopies(client, [lookup]);
  const { rows } = await client.query<{ relname: string; count: string }>(
    "select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) as count from pg_stat_xact_user_tables",
  );
  await client.query("rollback");
  return Object.fromEntries(rows.map(({ relname, count }) => [relname, Number(count)]));
}

test("a lookup reads no rows of other workspaces, and no facts about copies that are not in the named keyspace", async () => {
  const secret = randomUUID();
  const others = await storeElsewhere(secret, 20);
  const space = await addKeyspace();
  const lookup = {
    digest: digestKey(secret),
    callerDigest: digestKey(space.caller.secret),
    workspaceId: undefined,
    keyspaceId: undefined,
  };
  expect(await countRowsOf(lookup)).toMatchObject({ issued_keys: 0, key_counters: 1 });
  for (const other of others) await join(space, other);
  expect(await countRowsOf(lookup)).toMatchObject({ key_counters: 1 + 16 });
  const elsewhere = await countRowsOf({ ...lookup, keyspaceId: createId("keyspace") });
  expect(elsewhere).toMatchObject({ issued_keys: 20, key_counters: 1, api_key_policies: 0, consumers: 0 });
});
