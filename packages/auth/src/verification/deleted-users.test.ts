import { deleteUser, lockUserForDeletion } from "@latchkey/db/account-deletion";
import type { UserId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { sql } from "kysely";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import {
  codesOf,
  nameRequest,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// While a user is being deleted, the user's row is locked for as long as it takes to delete their workspaces. The counters of their API
// keys are locked only at the end.

const { addKeyspace, database, execute, issueKey, openNode, readCounter } = setUpVerifierTests();

async function verifyNamed(node: Verifier, { caller }: TestKeyspace, key: TestIssuedKey): Promise<string> {
  const request = {
    address: undefined,
    name: nameRequest(key.id),
    verifications: [verificationOf(key)],
  };
  return codesOf(await node.verify(caller.secret, request))[0] ?? "none";
}

/** Locks a user as a deletion does, until the test ends. */
async function lockUser(id: UserId): Promise<void> {
  const client = new pg.Client(testClientConfig(database().connection, "a deletion"));
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query("select from users where id = $1 for update", [id]);
}

async function countRecords(id: UserId): Promise<number> {
  const { rows } = await execute(sql<{ count: number }>`
    select count(*)::integer as count from idempotency_records where user_id = ${id}`);
  return rows[0]?.count ?? 0;
}

test("a deletion of a user delays no verification, not even one of this user with an Idempotency-Key", async () => {
  const node = openNode(patient);
  const [deleted, other] = [await addKeyspace(), await addKeyspace()];
  const [key, otherKey] = [await issueKey(deleted, { credits: 5 }), await issueKey(other, { credits: 5 })];
  for (const [space, one] of [
    [deleted, key],
    [other, otherKey],
  ] as const)
    expect(await verify(node, space, one)).toBe("VALID");
  await lockUser(deleted.caller.userId);
  const sent: string[] = [];
  onTestFinished(
    interceptStatements((statement) => {
      sent.push(statement);
      return undefined;
    }),
  );
  // Both are in one batch, and are answered although the user stays locked.
  expect(await Promise.all([verifyNamed(node, deleted, key), verify(node, other, otherKey)])).toEqual([
    "VALID",
    "VALID",
  ]);
  expect(sent.filter((statement) => statement === "rollback")).toEqual([]);
  expect(await countRecords(deleted.caller.userId)).toBe(1);
});

test("a verification with an Idempotency-Key is decided before its user is deleted, and the next one is rejected", async () => {
  const node = openNode(patient);
  const space = await addKeyspace();
  const key = await issueKey(space, { credits: 5 });
  expect(await verify(node, space, key)).toBe("VALID");
  const { id: callerId, userId } = space.caller;
  const decided = Promise.withResolvers<void>();
  const stop = interceptStatements((statement) =>
    statement === "verify-lock" ? decided.promise : undefined,
  );
  const pending = verifyNamed(node, space, key);
  const readFree = async () =>
    (await execute(sql`select from key_counters where key_id = ${callerId} for update skip locked`)).rows
      .length;
  await expect.poll(readFree).toBe(0);
  await execute(sql`delete from members where user_id = ${userId}`);
  const deletion = database()
    .db.transaction()
    .execute(async (trx) => {
      await lockUserForDeletion(trx, userId);
      await deleteUser(trx, { id: userId, name: "Somebody" });
    });
  // It waits for the counter of the user's API key.
  await expect.poll(() => countWaiting(database().owner)).toBe(1);
  decided.resolve();
  expect(await pending).toBe("VALID");
  await deletion;
  stop();
  expect(await verifyNamed(node, space, key)).toBe("rejected");
  // The purge deletes the record of the first one.
  expect(await countRecords(userId)).toBe(1);
  expect(await readCounter(key.id)).toMatchObject({ credits: 3 });
});
