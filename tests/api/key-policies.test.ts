import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, createKey } from "../support/account.ts";
import { startLoad } from "../support/load.ts";
import { getMembership } from "../support/membership.ts";
import { callOpen } from "../support/open-call.ts";
import { countStatuses } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// A block or a policy that one node acknowledged applies to the next request on both nodes, under load.

let nodes: TwoNodes;
let workspaceId: string;

beforeAll(async () => {
  nodes = await startTwoNodes();
  ({ workspaceId } = await getMembership(nodes.left.baseUrl, nodes.account));
});

afterAll(async () => {
  await nodes?.close();
});

async function change(baseUrl: string, path: string, input: object): Promise<void> {
  const { cookie } = nodes.account;
  const answer = await callProcedure(baseUrl, {
    path: `workspaceKeys.${path}`,
    kind: "mutation",
    input: { workspaceId, ...input },
    cookie,
  });
  if (answer.status !== 200) throw new Error(`${path} returned ${answer.status} ${answer.code}.`);
}

async function setPolicy(baseUrl: string, policy: object): Promise<void> {
  const call = { path: "workspaceKeys.policy", kind: "query", input: { workspaceId } } as const;
  const { data } = await callProcedure(baseUrl, { ...call, cookie: nodes.account.cookie });
  const { version } = data as { readonly version: number }; // The router's type for this procedure.
  await change(baseUrl, "changePolicy", { ...policy, version });
}

const changes = [
  {
    name: "a block",
    apply: (baseUrl: string, id: string) => change(baseUrl, "block", { keyIds: [id] }),
    undo: (baseUrl: string, id: string) => change(baseUrl, "unblock", { keyIds: [id] }),
  },
  {
    name: "a policy",
    apply: (baseUrl: string) => setPolicy(baseUrl, { isExpiryRequired: true }),
    undo: (baseUrl: string) => setPolicy(baseUrl, { isExpiryRequired: false }),
  },
] as const;

test.each(changes)(
  "$name rejects each request that starts after its acknowledgment, on both nodes, and its end allows each, in ten rounds",
  async ({ apply, undo }) => {
    const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "load");
    const path = `/open/workspaces/${workspaceId}`;
    const baseUrls = [nodes.left.baseUrl, nodes.right.baseUrl];
    for (let round = 0; round < 10; round += 1) {
      const changing = round % 2 === 0 ? nodes.left.baseUrl : nodes.right.baseUrl;
      const load = startLoad({ baseUrls, key, connections: 16, path });
      await load.reached(100);
      await apply(changing, id);
      const appliedAt = performance.now();
      const next = await Promise.all(baseUrls.map((baseUrl) => callOpen(baseUrl, key, path)));
      await load.reached(load.outcomes.length + 50);
      const undoneFrom = performance.now();
      await undo(changing, id);
      const undoneAt = performance.now();
      await load.reached(load.outcomes.length + 50);
      const outcomes = await load.stop();
      expect(next.map(({ status }) => status)).toEqual([403, 403]);
      const during = outcomes.filter(({ sentAt, endedAt }) => sentAt > appliedAt && endedAt < undoneFrom);
      expect(countStatuses(during)).toEqual({ 403: during.length });
      const after = outcomes.filter(({ sentAt }) => sentAt > undoneAt);
      expect(countStatuses(after)).toEqual({ 200: after.length });
      expect(during.length).toBeGreaterThan(0);
      expect(after.length).toBeGreaterThan(0);
    }
  },
  600_000,
);
