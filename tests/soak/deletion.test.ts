import { afterAll, beforeAll, expect, test } from "vitest";
import { env } from "../env.ts";
import { createKey, deleteKey } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import { countStatuses, verifyCounts } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

const maxRounds = 300;
/** A round takes a fraction of a second. At least 20 in a soak of ten seconds or longer. */
const minRounds = Math.min(20, 2 * env.soakSeconds);

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes({ MAX_KEY_CHANGES_PER_HOUR: "1000000" }, { deadlines: "product" });
});

afterAll(async () => {
  await nodes?.close();
});

test("no request that starts after a deletion returned is admitted, round after round, under load on two nodes", async () => {
  const connection = await connectionTo(nodes.instance.cluster);
  const until = performance.now() + env.soakSeconds * 1_000;
  const total = { answered: 0, counted: 0, received: 0 };
  let rounds = 0;
  let rejected = 0;
  for (; rounds < maxRounds && performance.now() < until; rounds += 1) {
    const [deleting, knowing] = rounds % 2 === 0 ? [nodes.left, nodes.right] : [nodes.right, nodes.left];
    const { id, key } = await createKey(knowing.baseUrl, nodes.account, `round ${rounds}`);
    const load = startLoad({ baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl], key, connections: 32 });
    await load.reached(200);
    await deleteKey(deleting.baseUrl, nodes.account, id);
    const deletedAt = performance.now();
    const next = await Promise.all([callOpen(nodes.left.baseUrl, key), callOpen(nodes.right.baseUrl, key)]);
    await load.reached(load.outcomes.length + 100);
    const outcomes = await load.stop();

    expect(next.map(({ status }) => status)).toEqual([403, 403]);
    const after = outcomes.filter(({ sentAt }) => sentAt > deletedAt);
    expect(countStatuses(after)).toEqual({ 403: after.length });
    const { "200": answered = 0, "403": alsoRefused = 0, ...others } = countStatuses(outcomes);
    expect(others).toEqual({});
    const counted = await readUses(connection, id);
    expect(counted).toBe(answered);
    total.answered += answered;
    total.counted += counted;
    total.received += answered + alsoRefused + next.length;
    rejected += after.length;
  }
  verifyCounts(
    "deletion under load",
    total,
    `${rounds} rounds, ${rejected} rejected after, 0 admitted after`,
  );
  expect(rounds).toBeGreaterThanOrEqual(minRounds);
});
