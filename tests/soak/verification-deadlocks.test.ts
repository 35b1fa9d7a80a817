import { afterAll, beforeAll, expect, test } from "vitest";
import { env } from "../env.ts";
import { createKey } from "../support/account.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { open, readUses } from "../support/inspection.ts";
import {
  callApi,
  createKeyspace,
  type IssuedKey,
  issueKey,
  type Keyspace,
  pathOf,
} from "../support/keyspace.ts";
import { type Load, startLoad } from "../support/load.ts";
import { connectionTo } from "../support/postmaster.ts";
import { countStatuses } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes verify batches of the same keys in opposite orders, while the keys, their consumers and their keyspace change.

const durationMs = env.soakSeconds * 1_000;
const consumerCount = 5;
const limits = [{ name: "requests", quota: 1_000_000_000, windowSeconds: 3_600, appliesAlways: true }];

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

const issue = (index: number): Promise<IssuedKey> =>
  issueKey(keyspace, {
    externalId: `customer-${index % consumerCount}`,
    credits: { remaining: 1_000_000_000 },
    limits,
  });

function startVerifying(baseUrl: string, callerKey: string, keys: readonly IssuedKey[]): Load {
  return startLoad({
    baseUrls: [baseUrl],
    key: callerKey,
    connections: 4,
    path: "/open/keys/verify-batch",
    body: { verifications: keys.map(({ key }) => ({ key })) },
  });
}

/**
 * Repeats a change until the time is up. Returns how often. A change that waits for too long on a busy machine gets 503 and is
 * not counted.
 */
async function repeatUntil(until: number, change: (round: number) => Promise<unknown>): Promise<number> {
  let changes = 0;
  for (let round = 0; performance.now() < until; round += 1) {
    try {
      await change(round);
      changes += 1;
    } catch (error) {
      if (!String(error).includes("returned 503")) throw error;
    }
  }
  return changes;
}

/**
 * Changes the limits of a consumer as the product does: the row, then its version as an owner. A change waits for a response,
 * because a request is decided again after each change that it meets, and has a deadline.
 */
async function changeConsumers(until: number, load: Load): Promise<number> {
  const client = await open(await connectionTo(nodes.instance.cluster));
  try {
    const { rows } = await client.query<{ id: string }>("select id from consumers order by id");
    return await repeatUntil(until, async (round) => {
      const id = rows[round % rows.length]?.id;
      await client.query("begin");
      await client.query("update consumers set limits = $2, version = version + 1 where id = $1", [
        id,
        JSON.stringify(round % 2 === 0 ? limits : []),
      ]);
      await client.query(
        `insert into owner_versions as known (owner_id, version) values ($1, 1)
        on conflict (owner_id) do update set version = known.version + 1`,
        [id],
      );
      await client.query("update key_counters set version = version + 1 where key_id = $1", [id]);
      await client.query("commit");
      await load.reached(load.outcomes.length + 1);
    });
  } finally {
    await client.end();
  }
}

test("two nodes that verify 60 keys in opposite orders have no deadlock, and count each use, while everything changes", async () => {
  const keys: IssuedKey[] = [];
  for (let index = 0; index < 40; index += 1) keys.push(await issue(index));
  // Requests that verify only these keys have no meter, and are counted by another statement.
  const unmetered: IssuedKey[] = [];
  for (let index = 0; index < 20; index += 1) unmetered.push(await issueKey(keyspace));
  const all = [...keys, ...unmetered];
  const at = (round: number) => keys[round % keys.length] as IssuedKey;
  const atAny = (round: number) => all[round % all.length] as IssuedKey;
  const callers = [
    await createKey(nodes.left.baseUrl, nodes.account, "left"),
    await createKey(nodes.right.baseUrl, nodes.account, "right"),
  ] as const;
  const deadlocks = await watchDeadlocks(nodes.instance.cluster);
  try {
    const until = performance.now() + durationMs;
    const loads = [
      startVerifying(nodes.left.baseUrl, callers[0].key, keys),
      startVerifying(nodes.right.baseUrl, callers[1].key, keys.toReversed()),
      startVerifying(nodes.left.baseUrl, callers[0].key, unmetered),
      startVerifying(nodes.right.baseUrl, callers[1].key, unmetered.toReversed()),
    ] as const;
    const right = { ...keyspace, baseUrl: nodes.right.baseUrl };
    const pathOfKey = ({ id }: IssuedKey) => `${pathOf(keyspace)}/keys/${id}`;
    const counts = await Promise.all([
      repeatUntil(until, (round) =>
        callApi(keyspace, ["PATCH", pathOfKey(atAny(round))], { isDisabled: round % 2 === 0 }),
      ),
      repeatUntil(until, (round) =>
        callApi(right, ["PATCH", pathOfKey(at(round * 7))], {
          credits: { remaining: 1_000_000_000 - round },
        }),
      ),
      repeatUntil(until, (round) =>
        callApi(keyspace, ["POST", `${pathOfKey(atAny(round * 7))}/rotate`], { overlapSeconds: 3_600 }),
      ),
      repeatUntil(until, async (round) => {
        const temporary = await issue(round);
        const body = { key: temporary.key };
        const { valid } = await callApi<{ valid: boolean }>(right, ["POST", "/keys/verify"], body);
        await callApi(keyspace, ["DELETE", pathOfKey(temporary)]);
        return valid;
      }),
      repeatUntil(until, (round) =>
        callApi(right, ["PATCH", pathOf(keyspace)], { isDisabled: round % 2 === 0 }),
      ),
      changeConsumers(until, loads[0]),
    ]);
    for (const load of loads) await load.stop();
    const database = await connectionTo(nodes.instance.cluster);
    const found = await deadlocks.finish();
    const statuses = callers.map((_, index) =>
      countStatuses([...(loads[index]?.outcomes ?? []), ...(loads[index + 2]?.outcomes ?? [])]),
    );
    console.info(
      `verifications in opposite orders: ${JSON.stringify(statuses)}; changes, credits, rotations, deletions, ` +
        `keyspace, consumers: ${counts.join(", ")}; ${found} deadlocks`,
    );
    expect(found).toBe(0);
    for (const [index, ofCaller] of statuses.entries()) {
      // A request that meets one change after the other can reach its deadline. Then its use may have been counted.
      const { 200: answered = 0, 503: unavailable = 0, ...others } = ofCaller;
      expect(others).toEqual({});
      expect(answered).toBeGreaterThan(unavailable);
      const counted = await readUses(database, callers[index]?.id ?? "");
      expect(counted).toBeGreaterThanOrEqual(answered);
      expect(counted).toBeLessThanOrEqual(answered + unavailable);
    }
    for (const count of counts) expect(count).toBeGreaterThan(0);
  } finally {
    await deadlocks.close();
  }
});
