import { expect, test } from "vitest";
import { recordStatements, verifyAll } from "./sent-statements.test-kit.ts";
import { hourly, setUpVerifierTests, type TestIssuedKey, type TestKeyspace } from "./verifier.test-kit.ts";

// The order in which the verifier sends statements on its connection.

const { addKeyspace, bumpOwner, issueKey, openNode } = setUpVerifierTests();
const sent = recordStatements();

/** Verifies a key when this statement is sent. */
function verifyAfter(statement: string, work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  sent.onSent = (name) => {
    if (name !== statement) return undefined;
    sent.onSent = () => undefined;
    resolve(work());
    return undefined;
  };
  return promise;
}

/** Requires that each transaction was sent as a whole, and that lookups were sent outside of transactions. */
function expectWholeTransactions(): void {
  let isOpen = false;
  for (const [index, name] of sent.names.entries()) {
    const isLookup = name.startsWith("verify-find-");
    expect([index, name, isOpen]).toEqual([index, name, name !== "begin" && !isLookup]);
    if (!name.startsWith("verify-")) isOpen = name === "begin";
  }
  expect(isOpen).toBe(false);
}

test("a batch without meters is sent behind another one, which is still in flight", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const keys = [await issueKey(space), await issueKey(space)] as const;
  // The first batch reads the facts, and the time of the database.
  await verifyAll(node, space, keys);
  sent.names = [];
  const second = verifyAfter("verify-count", () => verifyAll(node, space, [keys[1]]));
  const first = verifyAll(node, space, [keys[0]]);
  first.then(() => sent.names.push("answered"));
  expect(await first).toEqual(["VALID"]);
  expect(await second).toEqual(["VALID"]);
  const one = ["begin", "verify-count", "commit"];
  expect(sent.names).toEqual([...one, ...one, "answered"]);
});

test("a request that arrives while keys are looked up is sent behind the batch as soon as that is counted", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const [known, unknown] = [await issueKey(space), await issueKey(space)];
  await verifyAll(node, space, [known]);
  sent.names = [];
  const second = verifyAfter("verify-find-issued-keys", () => verifyAll(node, space, [known]));
  const first = verifyAll(node, space, [unknown]);
  first.then(() => sent.names.push("answered"));
  expect([await first, await second]).toEqual([["VALID"], ["VALID"]]);
  const one = ["begin", "verify-count", "commit"];
  expect(sent.names).toEqual(["verify-find-issued-keys", ...one, ...one, "answered"]);
});

test("requests that arrive during a transaction that locks counters are one batch, which is sent afterwards", async () => {
  const [space, node] = [await addKeyspace(), openNode()];
  const [plain, metered] = [await issueKey(space), await issueKey(space, { limits: [hourly(1_000)] })];
  await verifyAll(node, space, [plain, metered]);
  sent.names = [];
  const verifyPlain = () => verifyAll(node, space, [plain]);
  let third: Promise<readonly string[]> | undefined;
  const second = verifyAfter("verify-lock", () => {
    third = verifyAfter("verify-write", verifyPlain);
    return verifyPlain();
  });
  expect(await verifyAll(node, space, [metered])).toEqual(["VALID"]);
  expect([await second, await third]).toEqual([["VALID"], ["VALID"]]);
  expect(sent.names).toEqual([
    ...["begin", "verify-lock", "verify-write", "commit"],
    ...["begin", "verify-count", "commit"],
  ]);
});

// The first batch isn't counted, because a key has changed, and locks its counters when the second one has been sent.
test.each<[string, (space: TestKeyspace) => Promise<readonly TestIssuedKey[]>]>([
  ["locks counters", async (space) => [await issueKey(space, { limits: [hourly(1_000)] })]],
  ["looks keys up", async (space) => [await issueKey(space), await issueKey(space)]],
])("two batches, of which the second one %s, don't mix their transactions", async (_case, issue) => {
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode()];
  const [plain, changing] = [await issueKey(space), await issueKey(other)];
  const keys = await issue(space);
  await verifyAll(node, space, keys.length > 1 ? [plain] : [plain, ...keys]);
  await verifyAll(node, other, [changing]);
  await bumpOwner(other.keyspaceId);
  sent.names = [];
  const second = verifyAfter("verify-count", () => verifyAll(node, space, keys));
  expect(await verifyAll(node, other, [changing])).toEqual(["VALID"]);
  expect(await second).toEqual(keys.map(() => "VALID"));
  expectWholeTransactions();
});

test("batches of all kinds don't mix their transactions", async () => {
  const [space, other, node] = [await addKeyspace(), await addKeyspace(), openNode()];
  const plain = await Promise.all(Array.from({ length: 3 }, () => issueKey(space)));
  const metered = [
    await issueKey(space, { limits: [hourly(1_000)] }),
    await issueKey(space, { credits: 1_000 }),
  ];
  const changing = await issueKey(other);
  await verifyAll(node, space, [...plain, ...metered]);
  await verifyAll(node, other, [changing]);
  sent.names = [];
  const answers: Promise<readonly string[]>[] = [];
  for (let round = 0; round < 40; round += 1) {
    for (const key of [...plain, ...(round % 3 === 0 ? metered : [])])
      answers.push(verifyAll(node, space, [key]));
    if (round % 5 === 0) await bumpOwner(other.keyspaceId);
    answers.push(verifyAll(node, other, [changing]));
    if (round % 10 === 0) answers.push(verifyAll(node, space, [await issueKey(space)]));
    if (round % 4 === 0) await answers.at(-1);
  }
  const codes = await Promise.all(answers);
  expect(codes.flat().every((code) => code === "VALID")).toBe(true);
  expectWholeTransactions();
  const names = ["begin", "commit", "count", "find-api-keys", "find-issued-keys", "lock", "write"];
  // On a busy machine, a count takes long, and the transaction after it doesn't wait for locks.
  const kinds = new Set(sent.names.map((name) => name.replace(/^verify-|-free$/g, "")));
  expect([...kinds].sort()).toEqual(names);
});
