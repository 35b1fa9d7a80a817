import { sql } from "kysely";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import {
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verify as verifyKey,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// An old secret whose overlap has ended is a secret of no key: like every unknown secret, it is looked up at each use, because no row
// would confirm that it is still unknown.

const { addKeyspace, bumpKey, database, execute, hold, issueKey, openNode, readCounter, retire } =
  setUpVerifierTests();

const lookup = "verify-find-issued-keys";
const counted = ["begin", "verify-count", "commit"];
const locked = ["begin", "verify-lock", "commit"];

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

/** The names, or the texts, of the statements that verifiers sent since the last call of {@link verify}. */
let sent: string[] = [];

beforeEach(() =>
  interceptStatements((statement) => {
    sent.push(statement);
    return undefined;
  }),
);

async function verify(node: Verifier, space: TestKeyspace, key: TestIssuedKey): Promise<string> {
  sent = [];
  return await verifyKey(node, space, key);
}

/** A key in use, and a node that remembers its caller, and the time. */
async function prepare() {
  const space = await addKeyspace();
  const [warm, key] = [await issueKey(space), await issueKey(space)];
  const node = openNode();
  await verify(node, space, warm);
  return { space, warm, key, node, use: () => verify(node, space, key) };
}

const inOneHour = sql`pg_catalog.clock_timestamp() + interval '1 hour'`;

describe.each([
  ["that was revoked", sql`'-infinity'::timestamptz`],
  ["whose overlap has ended", sql`now() - interval '1 minute'`],
])("an old secret %s", (_which, goodUntil) => {
  test("costs one lookup per use, and doesn't lock the counter of its former key", async () => {
    const { key, use } = await prepare();
    await retire(key, goodUntil);
    const release = await hold(key);
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await use()).toBe("NOT_FOUND");
      expect(sent).toEqual([lookup, ...counted]);
    }
    await release();
    expect(await readCounter(key.id)).toMatchObject({ uses: 0 });
  });

  test.each([
    ["", {}],
    [", with credits,", { credits: 5 }],
  ])("is the secret of a key%s that is imported after its own key was deleted", async (_which, settings) => {
    const { space, key, node, use } = await prepare();
    await retire(key, goodUntil);
    expect(await use()).toBe("NOT_FOUND");
    await execute(sql`delete from retired_issued_secrets where key_id = ${key.id}`);
    await execute(sql`delete from issued_keys where id = ${key.id}`);
    const imported = await issueKey(space, { secret: key.secret, ...settings });
    for (const each of [node, openNode()]) expect(await verify(each, space, imported)).toBe("VALID");
  });
});

test("an old secret that a node remembers is forgotten at the first use after its overlap, and found again if the clock is set back", async () => {
  const { space, warm, key, node, use } = await prepare();
  await retire(key, inOneHour);
  for (let turn = 0; turn < 2; turn += 1) expect(await use()).toBe("VALID");
  await stopClock(3_601);
  // The node gets the current time.
  expect(await verify(node, space, warm)).toBe("VALID");
  expect(await use()).toBe("NOT_FOUND");
  expect(sent).toEqual([...locked, "verify-find-api-keys", lookup, ...counted]);
  expect(await use()).toBe("NOT_FOUND");
  expect(sent).toEqual([lookup, ...counted]);
  expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  await stopClock(0);
  for (let turn = 0; turn < 2; turn += 1) expect(await use()).toBe("VALID");
});

test("a lookup finds no secret whose overlap has ended for the decision, to the microsecond, also while the node's estimate of the time is ahead", async () => {
  const { key, use } = await prepare();
  await retire(key, inOneHour);
  // The node expects the clock to continue.
  await stopClock(0);
  const advance = (microseconds: number) =>
    execute(sql`update stopped_clock set now = now + ${microseconds} * interval '1 microsecond'`);
  for (let turn = 0; turn < 20; turn += 1) {
    await execute(sql`
      update retired_issued_secrets set good_until = (select now + interval '1 microsecond' from stopped_clock)
      where key_id = ${key.id}`);
    await bumpKey(key.id);
    expect(await use()).toBe("VALID");
    await advance(2);
    expect(await use()).toBe("NOT_FOUND");
    await advance(turn);
  }
});
