import { randomUUID } from "node:crypto";
import { createId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import type { Verification } from "./verification.ts";
import { setUpVerifierTests, type TestKeyspace, verificationOf } from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// An old secret whose overlap has ended is no copy: it hides no other copy of the secret.

const { addKeyspace, addKeyspaceTo, bumpOwner, database, execute, issueKey, openNode, retire } =
  setUpVerifierTests();

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

/** Returns the ID of the key that is found for a secret; undefined for none. */
async function find(
  node: Verifier,
  { caller }: Pick<TestKeyspace, "caller">,
  secret: string,
  change: Partial<Verification> = {},
): Promise<string | undefined> {
  const { outcome } = await node.verify(caller.secret, {
    address: undefined,
    name: undefined,
    verifications: [verificationOf({ secret }, change)],
  });
  if (outcome?.kind !== "verified") throw new Error("The request was not admitted.");
  const [result] = outcome.results;
  return result?.code === "VALID" ? result.key.keyId : undefined;
}

/** Adds the owner of the caller's key to the workspace of a keyspace. */
async function join({ caller }: TestKeyspace, { workspaceId }: TestKeyspace): Promise<void> {
  await execute(
    sql`insert into members (workspace_id, user_id, role) values (${workspaceId}, ${caller.userId}, 'member')`,
  );
  await bumpOwner(caller.userId);
}

const inOneHour = sql`pg_catalog.clock_timestamp() + interval '1 hour'`;

/** Two workspaces with a key that has the same secret. The second one's caller reaches both. */
async function prepare() {
  const secret = randomUUID();
  const [older, space] = [await addKeyspace(), await addKeyspace()];
  const [first, second] = [await issueKey(older, { secret }), await issueKey(space, { secret })];
  await join(space, older);
  return { secret, older, space, first, second };
}

test.each([
  ["was revoked", sql`'-infinity'::timestamptz`],
  ["has ended", sql`now() - interval '1 minute'`],
])("the newer copy decides if the older one's overlap %s", async (_how, goodUntil) => {
  const { secret, older, space, first, second } = await prepare();
  const nodes = [openNode(), openNode()];
  expect(await find(nodes[0] as Verifier, space, secret)).toBe(first.id);
  await retire(first, goodUntil);
  // The second time, the copy is remembered.
  for (let round = 0; round < 2; round += 1)
    for (const node of nodes) {
      expect(await find(node, space, secret)).toBe(second.id);
      expect(await find(node, space, secret, { workspaceId: space.workspaceId })).toBe(second.id);
      for (const place of [{ workspaceId: older.workspaceId }, { keyspaceId: older.keyspaceId }])
        expect(await find(node, space, secret, place)).toBeUndefined();
      expect(await find(node, older, secret)).toBeUndefined();
    }
});

test("the older copy decides until its overlap ends, and the newer one from then on", async () => {
  const { secret, older, space, first, second } = await prepare();
  await retire(first, inOneHour);
  const nodes = [openNode(), openNode()];
  for (const node of nodes)
    for (const caller of [space, older, space]) expect(await find(node, caller, secret)).toBe(first.id);
  await stopClock(3_601);
  for (const node of [...nodes, ...nodes, openNode()]) {
    expect(await find(node, space, secret)).toBe(second.id);
    expect(await find(node, older, secret)).toBeUndefined();
  }
  // A caller that looks the secret up after the clock was set back finds the older copy again, although the node remembers the newer
  // one, and that this caller may verify it.
  const another = await addKeyspace();
  for (const joined of [older, space]) await join(another, joined);
  const known = await issueKey(space);
  for (const node of nodes) expect(await find(node, another, known.secret)).toBe(known.id);
  await stopClock(0);
  for (const node of nodes) expect(await find(node, another, secret)).toBe(first.id);
});

test("a copy that was the only one is not found after its overlap, although another workspace has imported the secret since", async () => {
  const [older, space, third] = [await addKeyspace(), await addKeyspace(), await addKeyspace()];
  for (const other of [older, third]) await join(space, other);
  const first = await issueKey(older);
  const { secret } = first;
  await retire(first, inOneHour);
  const node = openNode();
  for (const caller of [space, older]) expect(await find(node, caller, secret)).toBe(first.id);
  const second = await issueKey(space, { secret });
  expect(await find(node, space, secret)).toBe(first.id);
  await stopClock(3_601);
  expect(await find(node, space, secret)).toBe(second.id);
  expect(await find(node, older, secret)).toBeUndefined();
  // The key with the ended secret is deleted, so that the second copy is the only one. Then there is another one.
  await execute(sql`delete from retired_issued_secrets where key_id = ${first.id}`);
  for (const each of [node, openNode()]) expect(await find(each, space, secret)).toBe(second.id);
  const fresh = openNode();
  expect(await find(fresh, space, secret)).toBe(second.id);
  const newest = await issueKey(third, { secret });
  for (const each of [node, fresh]) {
    expect(await find(each, third, secret)).toBe(newest.id);
    expect(await find(each, space, secret)).toBe(second.id);
    expect(await find(each, space, secret, { workspaceId: third.workspaceId })).toBe(newest.id);
  }
});

test("in one workspace, the secret of a key is found although a key of another keyspace had it", async () => {
  const space = await addKeyspace();
  const first = await issueKey(space);
  const { secret } = first;
  const { workspaceId } = space;
  const keyspaceId = await addKeyspaceTo(workspaceId);
  await retire(first, inOneHour);
  const second = await issueKey({ workspaceId, keyspaceId }, { secret });
  const node = openNode();
  const findWithoutKey = async () => {
    const outcome = await node.verifyWithoutKey("member", { ...verificationOf({ secret }), workspaceId });
    const [result] = outcome?.kind === "verified" ? outcome.results : [];
    return result?.code === "VALID" ? result.key.keyId : result?.code;
  };
  const findAll = async () => [
    await find(node, space, secret),
    await find(node, space, secret, { workspaceId }),
    await find(node, space, secret, { keyspaceId: space.keyspaceId }),
    await find(node, space, secret, { keyspaceId }),
    await findWithoutKey(),
  ];
  for (let round = 0; round < 2; round += 1)
    expect(await findAll()).toEqual([first.id, first.id, first.id, second.id, first.id]);
  await stopClock(3_601);
  for (let round = 0; round < 2; round += 1)
    expect(await findAll()).toEqual([second.id, second.id, undefined, second.id, second.id]);
});

test("a copy is found although the caller reaches 70 older ones whose overlap has ended", async () => {
  const secret = randomUUID();
  const space = await addKeyspace();
  const hash = sql`sha256(${secret}::bytea)`;
  for (let index = 0; index < 70; index += 1) {
    const other = await addKeyspace();
    await execute(sql`
      insert into members (workspace_id, user_id, role)
      values (${other.workspaceId}, ${space.caller.userId}, 'member')`);
    await execute(sql`
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      values (${hash}, ${other.workspaceId}, ${other.keyspaceId}, ${createId("issuedKey")}, 'acme_',
        now() - interval '1 minute')`);
  }
  const key = await issueKey(space, { secret });
  expect(await find(openNode(), space, secret)).toBe(key.id);
});
