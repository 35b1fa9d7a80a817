import { sql } from "kysely";
import { expect, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { recordStatements, verifyAll } from "./sent-statements.test-kit.ts";
import { setUpVerifierTests, type TestIssuedKey } from "./verifier.test-kit.ts";

// Which statements the verifier sends for a batch.

const { addKeyspace, execute, failChanges, issueKey, openNode } = setUpVerifierTests();
const sent = recordStatements();

test("a batch whose count was canceled is counted once, and not once for each of its halves", async () => {
  const node = openNode();
  const tenants = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const space = await addKeyspace();
      return { space, key: await issueKey(space) };
    }),
  );
  const verifyEach = () => Promise.all(tenants.map(({ space, key }) => verifyAll(node, space, [key])));
  const valid = ["VALID"];
  expect(await verifyEach()).toEqual([valid, valid, valid, valid]);
  await failChanges(tenants[0]?.key as TestIssuedKey, "57014"); // There are four.
  sent.names = [];
  expect(await verifyEach()).toEqual([["unavailable"], valid, valid, valid]);
  expect(sent.names.filter((name) => name === "verify-count")).toHaveLength(1);
});

test("a key and its caller's key are counted without a lock after the first use of their new secrets", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const key = await issueKey(space);
  const ids = sql.join([space.caller.id, key.id]);
  await execute(sql`update key_counters set has_unused_secret = true where key_id in (${ids})`);
  for (let use = 1; use <= 2; use += 1) expect(await verifyAll(node, space, [key])).toEqual(["VALID"]);
  sent.names = [];
  expect(await verifyAll(node, space, [key])).toEqual(["VALID"]);
  expect(sent.names).toEqual(["begin", "verify-count", "commit"]);
});

test("a batch looks up fewer callers' keys than it could have requests of known callers", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const key = await issueKey(space);
  await verifyAll(node, space, [key]);
  sent.names = [];
  const forged = Array.from({ length: 300 }, () => ({ ...space.caller, secret: createApiKey().secret }));
  const answers = await Promise.all(forged.map((caller) => verifyAll(node, { ...space, caller }, [key])));
  expect(new Set(answers.flat())).toEqual(new Set(["rejected"]));
  expect(sent.names).toEqual(["verify-find-api-keys", "verify-find-api-keys"]);
});
