import type { UserId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import type { TestKey } from "../admission/admission.test-kit.ts";
import { connectAsAdmission } from "../admission/connect.test-kit.ts";
import { claimNames } from "./claim-names.ts";
import { recordStatements, useFakeTime } from "./sent-statements.test-kit.ts";
import { recordSpending } from "./statements.ts";
import {
  codesOf,
  nameRequest,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";
import type { Verifier, VerifierOptions } from "./verifier.ts";

// A node stalls after it has claimed the Idempotency-Keys of a user. Another node verifies keys for this user and for others.

const { addKey, addKeyspace, database, execute, hold, issueKey, openNode, readCounter } =
  setUpVerifierTests();
const sent = recordStatements();

/**
 * A user with two API keys, and another tenant. The node knows all keys. The time stands still, so that isolation doesn't end and
 * isolated requests don't wait for locks, until a test advances it.
 */
async function setUp(options: Partial<VerifierOptions> = {}) {
  useFakeTime();
  const node = openNode({ ...patient, ...options });
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const callers = [space.caller, await addKey(space.caller.userId)] as const;
  const key = await issueKey(space, { credits: 9 });
  const otherKey = await issueKey(other, { credits: 9 });
  for (const caller of callers) expect(await verify(node, { caller }, key)).toBe("VALID");
  expect(await verify(node, other, otherKey)).toBe("VALID");
  return { node, space, other, callers, key, otherKey };
}

/** Claims the `Idempotency-Key`s of a user, as a node does that stalls before its commit. `sent` has what was sent afterwards. */
async function claimAndStall({ userId }: { readonly userId: UserId }) {
  const client = await connectAsAdmission(database().connection, []);
  onTestFinished(() => client.end());
  await client.query("begin");
  await claimNames(client, [{ userId }], { skipsClaimed: false });
  sent.names = [];
  return client;
}

const sendNamed = async (node: Verifier, caller: TestKey, key: TestIssuedKey, name: string) =>
  codesOf(
    await node.verify(caller.secret, {
      address: undefined,
      name: nameRequest(name),
      verifications: [verificationOf(key)],
    }),
  )[0];

/** Which of the statements sent since `start` belong to transactions that have begun since, and spent something. */
function listSpending(start = 0): readonly (readonly string[])[] {
  const transactions: string[][] = [];
  for (const name of sent.names.slice(start)) {
    if (name.startsWith("begin")) transactions.push([]);
    transactions.at(-1)?.push(name);
  }
  return transactions.filter((names) => names.includes("verify-write"));
}

const hasWaited = ["begin", "verify-lock", "verify-claim-names", "verify-find-records", "rollback"];
const hasSkipped = ["begin", "verify-lock-free", "verify-claim-free-names", "verify-find-records"];

test("claimed names delay the requests of others once, whichever API keys of the user send requests with names", async () => {
  const { node, other, callers, key, otherKey } = await setUp();
  const stalled = await claimAndStall(callers[0]);
  // Each of these is in one batch with a request of the other tenant.
  const first = sendNamed(node, callers[0], key, "reused");
  expect(await verify(node, other, otherKey)).toBe("VALID");
  expect(sent.names.slice(0, 10)).toEqual([...hasWaited, ...hasSkipped, "verify-write"]);
  const before = sent.names.length;
  const second = sendNamed(node, callers[1], key, "new");
  expect(await verify(node, other, otherKey)).toBe("VALID");
  expect(sent.names.slice(before)).not.toContain("verify-claim-names");
  // Later attempts wait for the claim too, so that another node that uses the names can't keep this one from them, but briefly.
  vi.advanceTimersByTime(100);
  await expect.poll(() => sent.names).toContain("begin; set local lock_timeout = 25");
  // Nothing was decided past the claim.
  for (const { id } of callers) expect(await readCounter(id)).toMatchObject({ uses: 1 });
  // The stalled node has recorded another body with one of the names.
  const record = { ...nameRequest("reused", "another body"), userId: callers[0].userId, spent: [null] };
  await recordSpending(stalled, [record]);
  await stalled.query("commit");
  expect([await first, await second]).toEqual(["name-reused", "VALID"]);
  for (const { id } of callers) expect(await readCounter(id)).toMatchObject({ uses: 2 });
  expect(await readCounter(key.id)).toMatchObject({ uses: 3, credits: 6 });
  expect(await readCounter(otherKey.id)).toMatchObject({ uses: 3, credits: 6 });
  // The node still knows the keys.
  expect(sent.names.filter((name) => /^verify-find-(?!records)/.test(name))).toEqual([]);
});

test("requests without a name of a user with claimed names are decided with those of others", async () => {
  const { node, space, other, callers, key, otherKey } = await setUp();
  const { workspaceId } = space;
  await execute(sql`
    insert into members (workspace_id, user_id, role) values (${workspaceId}, ${other.caller.userId}, 'member')`);
  const stalled = await claimAndStall(callers[0]);
  /** Verifies an issued key and an API key of the user for the other user. */
  const verifyApiKey = async () =>
    codesOf(
      await node.verify(other.caller.secret, {
        address: undefined,
        name: undefined,
        verifications: [verificationOf(otherKey), verificationOf(callers[0], { workspaceId })],
      }),
    );
  expect(await verifyApiKey()).toEqual(["VALID", "VALID"]);
  sent.names = [];
  const named = [sendNamed(node, callers[0], key, "first")];
  const verifyUnnamed = (caller: TestKey) => verify(node, { caller }, key);
  expect(await Promise.all([verifyUnnamed(callers[0]), verifyApiKey()])).toEqual([
    "VALID",
    ["VALID", "VALID"],
  ]);
  expect(listSpending()).toEqual([[...hasSkipped, "verify-write", "commit"]]);
  // In the next batch, the user is isolated, but only its requests with names are.
  const before = sent.names.length;
  named.push(sendNamed(node, callers[1], key, "second"));
  expect(await Promise.all([...callers.map(verifyUnnamed), verifyApiKey()])).toEqual([
    ...callers.map(() => "VALID"),
    ["VALID", "VALID"],
  ]);
  expect(listSpending(before)).toEqual([["begin", "verify-lock", "verify-write", "commit"]]);
  await stalled.query("rollback");
  expect(await Promise.all(named)).toEqual(["VALID", "VALID"]);
  expect(await readCounter(key.id)).toMatchObject({ uses: 7, credits: 2 });
});

test("requests with claimed names occupy at most half of the queue", async () => {
  const { node, other, callers, key, otherKey } = await setUp({ maxWaiting: 4 });
  const stalled = [await claimAndStall(callers[0]), await claimAndStall(other.caller)];
  const [first, second, third] = [
    sendNamed(node, callers[0], key, "first"),
    sendNamed(node, callers[1], key, "second"),
    sendNamed(node, other.caller, otherKey, "third"),
  ];
  expect(await third).toBe("unavailable");
  for (const client of stalled) await client.query("rollback");
  expect([await first, await second]).toEqual(["VALID", "VALID"]);
  expect(await readCounter(other.caller.id)).toMatchObject({ uses: 1 });
});

test("a locked API key of a user with claimed names is isolated too", async () => {
  const { node, other, callers, key, otherKey } = await setUp();
  const release = await hold(callers[0]);
  const stalled = await claimAndStall(callers[0]);
  const named = sendNamed(node, callers[0], key, "first");
  expect(await verify(node, other, otherKey)).toBe("VALID");
  const before = sent.names.length;
  const unnamed = verify(node, { caller: callers[0] }, key);
  expect(await verify(node, other, otherKey)).toBe("VALID");
  // The request of the other tenant was not in a batch that waited.
  expect(sent.names.slice(before)).not.toContain("rollback");
  await release();
  expect(await unnamed).toBe("VALID");
  await stalled.query("rollback");
  expect(await named).toBe("VALID");
});
