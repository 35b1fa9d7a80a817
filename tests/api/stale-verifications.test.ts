import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyspace, type IssuedKey, issueKey, type Keyspace, pathOf } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilChanged } from "../support/until-answered.ts";

// Two nodes verify an issued key under load, and one of them changes or deletes the key, its keyspace, its consumer or its
// workspace.

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

type ApiRequest = readonly [method: "DELETE" | "PATCH", path: string, body?: object];

interface Change {
  readonly when: string;
  readonly request: (keyspace: Keyspace, key: IssuedKey, externalId: string) => ApiRequest;
  /** Whether it deletes the keyspace, so that each round needs a new one. */
  readonly deletesKeyspace?: boolean;
  /** The code of every other verification after the change. */
  readonly code: string;
  /** The number of verifications that the changed limit still allows. */
  readonly allowed?: number;
}

const sharedLimit = { name: "shared", quota: 1, windowSeconds: 86_400 };
const changes: readonly Change[] = [
  {
    when: "its deletion",
    request: (at, { id }) => ["DELETE", `${pathOf(at)}/keys/${id}`],
    code: "NOT_FOUND",
  },
  {
    when: "its keyspace is deleted",
    request: (at) => ["DELETE", pathOf(at)],
    deletesKeyspace: true,
    code: "NOT_FOUND",
  },
  {
    when: "its workspace is deleted",
    request: ({ workspaceId }) => ["DELETE", `/workspaces/${workspaceId}`],
    deletesKeyspace: true,
    code: "NOT_FOUND",
  },
  {
    when: "it is disabled",
    request: (at, { id }) => ["PATCH", `${pathOf(at)}/keys/${id}`, { isDisabled: true }],
    code: "DISABLED",
  },
  {
    when: "its keyspace is disabled",
    request: (at) => ["PATCH", pathOf(at), { isDisabled: true }],
    code: "DISABLED",
  },
  {
    when: "its consumer gets a limit of 1",
    request: (at, _, externalId) => [
      "PATCH",
      `${pathOf(at)}/consumers/${externalId}`,
      { limits: [sharedLimit] },
    ],
    code: "RATE_LIMITED",
    allowed: 1,
  },
];

/** A node decides about a key without meters before the statement that counts, and about others after it has locked their meters. */
const settings = {
  "without meters": {},
  "with a rate limit and credits": {
    limits: [{ name: "requests", quota: 1_000_000, windowSeconds: 86_400 }],
    credits: { remaining: 1_000_000 },
  },
} as const;

const cases = (["without meters", "with a rate limit and credits"] as const).flatMap((meters) =>
  changes.map((change) => ({ ...change, meters })),
);

/** Makes a change through one node, also on a busy machine. */
async function makeChange(
  { baseUrl, callerKey }: Pick<Keyspace, "baseUrl" | "callerKey">,
  [method, path, body]: ApiRequest,
): Promise<void> {
  const send = async () => {
    const response = await fetch(`${baseUrl}/open${path}`, {
      method,
      headers: { Authorization: `Bearer ${callerKey}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    await response.arrayBuffer();
    return response.status;
  };
  // After a workspace was deleted, another attempt gets 403, because the caller is no longer its member.
  const deleted = path.includes("/keyspaces/") ? 404 : 403;
  const statuses = method === "DELETE" ? ([204, deleted] as const) : ([200, 200] as const);
  expect(await untilChanged(send, statuses)).toBe(statuses[0]);
}

/** Counts the codes of the results. A node that is busy responds with 503. */
function countCodes(outcomes: readonly Outcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status, code, errorCode } of outcomes) {
    if (status === 503) continue;
    const name = code ?? errorCode ?? String(status);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test.each(cases)(
  "no node allows a key $meters after $when",
  async ({ request, deletesKeyspace, code, meters, allowed = 0 }) => {
    const baseUrls = [nodes.left.baseUrl, nodes.right.baseUrl];
    // Each node makes the change once.
    for (const baseUrl of baseUrls) {
      const externalId = randomUUID();
      const used = deletesKeyspace ? await createKeyspace(nodes.left.baseUrl, nodes.account) : keyspace;
      const at = { ...used, baseUrl };
      const issued = await issueKey(used, { externalId, ...settings[meters] });
      const load = startLoad({
        baseUrls,
        key: used.callerKey,
        connections: 16,
        path: "/open/keys/verify",
        body: { key: issued.key },
      });
      await load.reached(100);
      await makeChange(at, request(at, issued, externalId));
      const changedAt = performance.now();
      // The 16 requests in flight, and more that were sent after the change.
      await load.reached(load.outcomes.length + 66);
      const outcomes = await load.stop();
      if (!deletesKeyspace) await makeChange(at, ["PATCH", pathOf(at), { isDisabled: false }]);

      const { VALID: before = 0, ...othersBefore } = countCodes(
        outcomes.filter(({ sentAt }) => sentAt < changedAt),
      );
      const { VALID: after = 0, ...othersAfter } = countCodes(
        outcomes.filter(({ sentAt }) => sentAt > changedAt),
      );
      expect(before).toBeGreaterThan(0);
      expect(Object.keys(othersBefore).filter((other) => other !== code)).toEqual([]);
      expect(after).toBeLessThanOrEqual(allowed);
      expect(Object.keys(othersAfter)).toEqual([code]);
    }
  },
);
