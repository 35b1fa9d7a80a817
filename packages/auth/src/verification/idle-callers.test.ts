import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { UsageRecorder } from "../statistics/usage-recorder.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import { recordStatements } from "./sent-statements.test-kit.ts";
import type { Verification } from "./verification.ts";
import { setUpVerifierTests, type TestKeyspace, verificationOf } from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// A caller reaches several copies of a secret, and is idle in the workspace of one of them.

const { addKeyspace, database, execute, issueKey, openNode } = setUpVerifierTests();
const sent = recordStatements();

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

type Caller = Pick<TestKeyspace, "caller">;

const lookup = "verify-find-issued-keys";
const counted = ["begin", "verify-count", "commit"];

/** Verifies keys with one request. @returns the verdict, and the ID of the key that was found for each verification. */
async function verify(node: Verifier, { caller }: Caller, verifications: readonly Verification[]) {
  const request = { address: undefined, name: undefined, verifications };
  const { outcome, verdict } = await node.verify(caller.secret, request);
  if (outcome?.kind !== "verified") throw new Error("The request was not admitted.");
  const ids = outcome.results.map((result) => (result.code === "VALID" ? result.key.keyId : undefined));
  return { verdict, ids };
}

async function find(node: Verifier, caller: Caller, ...verifications: readonly Verification[]) {
  return (await verify(node, caller, verifications)).ids;
}

const days = (count: number) => sql`interval '1 day' * ${count}`;

/** Adds the caller to a workspace that rejects API keys after 30 days without a use, and makes it as old as its membership. */
async function joinAsIdle(
  { caller }: Caller,
  { workspaceId }: TestKeyspace,
  { role = "member", age = days(31) } = {},
): Promise<void> {
  await execute(sql`
    insert into members (workspace_id, user_id, role, created_at)
    values (${workspaceId}, ${caller.userId}, ${role}, now() - (${age}))`);
  await execute(sql`insert into api_key_policies (workspace_id, max_idle_days) values (${workspaceId}, 30)`);
  await execute(sql`update api_keys set created_at = now() - (${age}) where id = ${caller.id}`);
}

/** Writes a use of the caller's key to the history, as a node does within a second. */
async function writeUse({ caller }: Caller, { workspaceId }: TestKeyspace): Promise<void> {
  await execute(sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${caller.id}, date_trunc('hour', now()), ${workspaceId}, 'admitted', 1)`);
}

/** A caller, another workspace, and a key of each with the same secret. The key that is issued first is the older copy. */
async function prepare(order: "the caller's is newer" | "the caller's is older") {
  const [other, space] = [await addKeyspace(), await addKeyspace()];
  const secret = randomUUID();
  const own = order === "the caller's is older" ? await issueKey(space, { secret }) : undefined;
  const copy = await issueKey(other, { secret });
  return { other, space, copy, own: own ?? (await issueKey(space, { secret })), secret };
}

function openRecorder(): UsageRecorder {
  const recorder = new UsageRecorder({
    connection: database().connection,
    flushEveryMs: 3_600_000,
    clock: { nowMs: () => Date.now(), synchronize: async () => undefined },
  });
  onTestFinished(() => recorder.close());
  return recorder;
}

describe("the older copy decides on every node as soon as a use shows that the caller isn't idle in its workspace", () => {
  test("if another node wrote the use after this one had found the newer copy", async () => {
    const { other, space, copy, own } = await prepare("the caller's is newer");
    await joinAsIdle(space, other, { age: sql`interval '719 hours'` });
    const [node, using] = [openNode(), openNode()];
    const recorder = openRecorder();
    // Just before the caller becomes idle, a node counts a use in the older copy's workspace, and doesn't write it yet.
    const { workspaceId } = other;
    const { ids, verdict } = await verify(using, space, [verificationOf(copy, { workspaceId })]);
    expect(ids).toEqual([copy.id]);
    recorder.record(verdict, {
      workspaceId,
      address: undefined,
      method: "POST",
      path: "/",
      requestId: "one",
    });
    await stopClock(3_601);
    // According to the history, the caller is idle, so the newer copy decides. The second time, both copies are remembered.
    for (const each of [node, node, using, using])
      expect(await find(each, space, verificationOf(copy))).toEqual([own.id]);
    await recorder.flush();
    for (const each of [node, using, node, using, openNode()])
      expect(await find(each, space, verificationOf(copy))).toEqual([copy.id]);
  });

  test("in a batch with a key that is looked up, and one that is remembered", async () => {
    const { other, space, copy, own } = await prepare("the caller's is newer");
    await joinAsIdle(space, other);
    const [known, unknown] = [await issueKey(space), await issueKey(space)];
    const node = openNode();
    expect(await find(node, space, verificationOf(copy), verificationOf(known))).toEqual([own.id, known.id]);
    await writeUse(space, other);
    const batch = [verificationOf(known), verificationOf(copy), verificationOf(unknown)];
    expect(await find(node, space, ...batch)).toEqual([known.id, copy.id, unknown.id]);
  });

  test.each([
    ["", undefined],
    [", one of them of a deleted keyspace", 3],
  ])("if the caller reaches more copies than a lookup reads%s", async (_what, deleted) => {
    const { other, space, copy, own, secret } = await prepare("the caller's is newer");
    await joinAsIdle(space, other);
    for (let index = 0; index < 16; index += 1) {
      const another = await addKeyspace();
      await issueKey(another, { secret });
      await execute(sql`
        insert into members (workspace_id, user_id, role)
        values (${another.workspaceId}, ${space.caller.userId}, 'member')`);
      // The purge deletes the keys later.
      if (index === deleted) await execute(sql`delete from keyspaces where id = ${another.keyspaceId}`);
    }
    const node = openNode();
    for (let round = 0; round < 2; round += 1)
      expect(await find(node, space, verificationOf(copy))).toEqual([own.id]);
    await writeUse(space, other);
    expect(await find(node, space, verificationOf(copy))).toEqual([copy.id]);
  });
});

describe("a verification takes", () => {
  /** Sends a request on a node that has answered it, and returns what was found and which statements were sent. */
  async function repeat(space: Caller, verification: Verification, warmUp: readonly Verification[] = []) {
    const node = openNode();
    for (const each of [...warmUp, verification, verification]) await find(node, space, each);
    sent.names = [];
    return { found: await find(node, space, verification), sent: sent.names };
  }

  test("no lookup if there is one copy, and the caller is idle in another workspace", async () => {
    const [other, space] = [await addKeyspace(), await addKeyspace()];
    await joinAsIdle(space, other);
    const [key, elsewhere] = [await issueKey(space), await issueKey(other)];
    // It isn't found, but the node learns that the caller is idle there.
    const warmUp = [verificationOf(elsewhere)];
    expect(await repeat(space, verificationOf(key), warmUp)).toEqual({ found: [key.id], sent: counted });
  });

  test("no lookup if the caller isn't idle", async () => {
    const { other, space, copy } = await prepare("the caller's is newer");
    await joinAsIdle(space, other);
    await writeUse(space, other);
    expect(await repeat(space, verificationOf(copy))).toEqual({ found: [copy.id], sent: counted });
  });

  test("no lookup if the caller is idle in the workspace of a newer copy", async () => {
    const { other, space, own } = await prepare("the caller's is older");
    await joinAsIdle(space, other);
    expect(await repeat(space, verificationOf(own))).toEqual({ found: [own.id], sent: counted });
  });

  test("no lookup if it names another place than the one of an older copy whose workspace the caller is idle in", async () => {
    const { other, space, own } = await prepare("the caller's is newer");
    await joinAsIdle(space, other);
    const { workspaceId, keyspaceId } = space;
    for (const place of [{ workspaceId }, { keyspaceId }])
      expect(await repeat(space, verificationOf(own, place), [verificationOf(own)])).toEqual({
        found: [own.id],
        sent: counted,
      });
  });

  test("no lookup if the caller couldn't verify the older copy even if it weren't idle", async () => {
    const viewer = await prepare("the caller's is newer");
    await joinAsIdle(viewer.space, viewer.other, { role: "viewer" });
    const blocked = await prepare("the caller's is newer");
    await joinAsIdle(blocked.space, blocked.other);
    await execute(sql`
      insert into workspace_key_access (workspace_id, key_id, blocked_at)
      values (${blocked.other.workspaceId}, ${blocked.space.caller.id}, now())`);
    for (const { space, own } of [viewer, blocked])
      expect(await repeat(space, verificationOf(own))).toEqual({ found: [own.id], sent: counted });
  });

  test("one lookup if the caller is idle in the workspace of an older copy", async () => {
    const { other, space, own } = await prepare("the caller's is newer");
    await joinAsIdle(space, other);
    expect(await repeat(space, verificationOf(own))).toEqual({ found: [own.id], sent: [lookup, ...counted] });
  });

  test("one lookup if the caller is idle in the workspace of the only copy, as for a secret that no key has", async () => {
    const [other, space] = [await addKeyspace(), await addKeyspace()];
    await joinAsIdle(space, other);
    for (const key of [await issueKey(other), { secret: randomUUID() }])
      expect(await repeat(space, verificationOf(key))).toEqual({
        found: [undefined],
        sent: [lookup, ...counted],
      });
  });
});
