import type { KeyId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { disableUser, enableUser, findUserByEmail } from "@latchkey/db/users";
import { afterAll, beforeAll, expect, test } from "vitest";
import { env } from "../env.ts";
import { type Account, type CreatedKey, createKey, deleteKey, signUp } from "../support/account.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { toUuid } from "../support/inspection.ts";
import { connectionTo } from "../support/postmaster.ts";
import {
  countAnsweredByKey,
  type RoundRobinLoad,
  startRoundRobinLoad,
  sumStatuses,
} from "../support/round-robin-load.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes get the same keys in opposite orders, while edits also lock rows of counters.

const durationMs = env.soakSeconds * 1_000;

let nodes: TwoNodes;
let db: Db;

beforeAll(async () => {
  nodes = await startTwoNodes({ MAX_KEY_CHANGES_PER_HOUR: "1000000" });
  db = openTestPool(await connectionTo(nodes.instance.cluster), { applicationName: "soak" });
});

afterAll(async () => {
  await db?.destroy();
  await nodes?.close();
});

/** Keys in the order of their IDs, which is the order of their rows. */
async function createKeys(account: Account, count: number): Promise<readonly CreatedKey[]> {
  const keys: CreatedKey[] = [];
  for (let made = 0; made < count; made += 1)
    keys.push(await createKey(nodes.left.baseUrl, account, `key ${made}`));
  return keys.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Clients on both nodes, in ascending order on one and descending order on the other. */
function rotateInBothOrders(keys: readonly CreatedKey[], connections: number): readonly RoundRobinLoad[] {
  return [
    startRoundRobinLoad({ baseUrl: nodes.left.baseUrl, keys, connections }),
    startRoundRobinLoad({ baseUrl: nodes.right.baseUrl, keys: keys.toReversed(), connections }),
  ];
}

/** Disables and enables a user until the time is up. Returns how often. */
async function toggleUserUntil(account: Account, until: number): Promise<number> {
  const user = await findUserByEmail(db, account.email);
  if (!user) throw new Error("There is no such user.");
  let toggles = 0;
  for (; performance.now() < until; toggles += 2) {
    await db.transaction().execute((trx) => disableUser(trx, user.id));
    await db.transaction().execute((trx) => enableUser(trx, user.id));
  }
  return toggles;
}

/** Creates keys, uses them on both nodes, and deletes them during use, until the time is up. */
async function replaceKeysUntil(account: Account, until: number): Promise<readonly RoundRobinLoad[]> {
  const loads: RoundRobinLoad[] = [];
  while (performance.now() < until) {
    const keys = [
      await createKey(nodes.left.baseUrl, account, "one of two"),
      await createKey(nodes.right.baseUrl, account, "the other"),
    ];
    const pair = rotateInBothOrders(keys, 4);
    await Promise.all(pair.map((load) => load.reached(20)));
    await Promise.all(keys.map(({ id }) => deleteKey(nodes.left.baseUrl, account, id)));
    await Promise.all(pair.map((load) => load.stop()));
    loads.push(...pair);
  }
  return loads;
}

/** Expects that the uses of each key equal its responses with 200. Returns the total. */
async function expectExactCounts(loads: readonly RoundRobinLoad[]): Promise<number> {
  const answered = countAnsweredByKey(loads.map(({ tally }) => tally));
  const ids = new Map([...answered.keys()].map((id) => [toUuid(id), id]));
  const rows = await db.selectFrom("key_counters").select(["key_id", "use_count"]).execute();
  const counted = new Map(
    rows.flatMap(({ key_id, use_count }) => {
      const id = ids.get(key_id as KeyId); // The test creates only API keys.
      return id ? [[id, use_count] as const] : [];
    }),
  );
  expect(counted).toEqual(answered);
  return sum([...counted.values()]);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

test("two nodes that use 500 keys in opposite orders have no deadlock and no error, while edits run", async () => {
  const editor = await signUp(nodes.left.baseUrl, "editor@example.com");
  const keys = await createKeys(nodes.account, 500);
  const leavers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => signUp(nodes.left.baseUrl, `leaver-${index}@example.com`)),
  );
  const leaversKeys = await Promise.all(leavers.map((leaver) => createKeys(leaver, 60)));
  const deadlocks = await watchDeadlocks(nodes.instance.cluster);
  try {
    const startedAt = performance.now();
    const until = startedAt + durationMs;
    const loads = rotateInBothOrders(keys, 256);
    const leaverLoads = leaversKeys.flatMap((theirs) => rotateInBothOrders(theirs, 30));
    const [toggles, editorLoads] = await Promise.all([
      Promise.all(leavers.map((leaver) => toggleUserUntil(leaver, until))).then(sum),
      replaceKeysUntil(editor, until),
    ]);
    for (const load of [...loads, ...leaverLoads]) await load.stop();
    const seconds = (performance.now() - startedAt) / 1_000;

    const steady = sumStatuses(loads.map(({ tally }) => tally));
    const changing = sumStatuses([...leaverLoads, ...editorLoads].map(({ tally }) => tally));
    const counted = await expectExactCounts([...loads, ...leaverLoads, ...editorLoads]);
    const found = await deadlocks.finish();
    const answered = (steady["200"] ?? 0) + (changing["200"] ?? 0);
    const received = sum([...Object.values(steady), ...Object.values(changing)]);
    console.info(
      `opposite orders for ${seconds.toFixed(0)} s: answered ${answered}, counted ${counted}, received ${received}; ` +
        `500 keys ${JSON.stringify(steady)}, others ${JSON.stringify(changing)}, ${toggles} times disabled or enabled, ` +
        `${editorLoads.length} keys replaced, ${found} deadlocks`,
    );
    expect(found).toBe(0);
    expect(Object.keys(steady)).toEqual(["200"]);
    expect(Object.keys(changing).sort()).toEqual(["200", "403"]);
    expect(counted).toBe(answered);
    expect(toggles).toBeGreaterThan(0);
    expect(editorLoads.length).toBeGreaterThan(0);
  } finally {
    await deadlocks.close();
  }
});
