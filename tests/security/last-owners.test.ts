// A workspace keeps an owner, whatever its last two owners do at the same time on two nodes: exactly one of them is
// rejected.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { getMembership, type MembershipTable, openMembershipTable } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { type ChangeStatuses, untilChanged } from "../support/until-answered.ts";

interface Owner extends Account {
  readonly key: string;
  readonly userId: string;
  /** The node that this owner calls. */
  readonly baseUrl: string;
}

let nodes: TwoNodes;
let memberships: MembershipTable;
let owners: readonly [Owner, Owner];
let workspaceId: string;

beforeAll(async () => {
  nodes = await startTwoNodes();
  memberships = await openMembershipTable(await connectionTo(nodes.instance.cluster));
  const other = await signUp(nodes.left.baseUrl, "bob@example.com");
  workspaceId = (await getMembership(nodes.left.baseUrl, nodes.account)).workspaceId;
  owners = [await addKeyTo(nodes.account, nodes.left.baseUrl), await addKeyTo(other, nodes.right.baseUrl)];
  const observer = await addKeyTo(await signUp(nodes.left.baseUrl, "eve@example.com"), nodes.left.baseUrl);
  await memberships.write({ workspaceId, userId: observer.userId }, "viewer");
});

afterAll(async () => {
  await memberships?.close();
  await nodes?.close();
});

async function addKeyTo(account: Account, baseUrl: string): Promise<Owner> {
  const { key } = await createKey(baseUrl, account, "key");
  return { ...account, key, baseUrl, userId: (await getMembership(baseUrl, account)).userId };
}

/** Changes a member with an owner's key. Returns the status. */
async function byKey(actor: Owner, target: Owner, role?: string): Promise<number> {
  const response = await fetch(`${actor.baseUrl}/open/workspaces/${workspaceId}/members/${target.userId}`, {
    method: role ? "PATCH" : "DELETE",
    headers: { Authorization: `Bearer ${actor.key}`, "Content-Type": "application/json" },
    ...(role ? { body: JSON.stringify({ role }) } : {}),
  });
  await response.arrayBuffer();
  return response.status;
}

/** A person who has left can't access the workspace. */
const left: ChangeStatuses = [204, 403];

async function leaveBySession({ baseUrl, cookie, userId }: Owner): Promise<number> {
  const input = { workspaceId, userId };
  return (await callProcedure(baseUrl, { path: "members.remove", kind: "mutation", input, cookie })).status;
}

/**
 * What both owners do at the same time, the statuses of the change, and the status of the owner who is rejected. The owner who is
 * removed or demoted first can't change the other: admission or the check under the lock rejects it.
 */
const scenarios: readonly (readonly [
  string,
  (owner: Owner, other: Owner) => Promise<number>,
  ChangeStatuses,
  number,
])[] = [
  ["leave, by key", (owner) => byKey(owner, owner), left, 409],
  ["leave, in the web app", leaveBySession, [200, 403], 409],
  ["take a lesser role", (owner) => byKey(owner, owner, "admin"), [200, 403], 409],
  ["remove each other", (owner, other) => byKey(owner, other), [204, 404], 403],
  ["demote each other", (owner, other) => byKey(owner, other, "viewer"), [200, 200], 403],
];

test.each(scenarios)(
  "two last owners who %s at the same time, repeatedly",
  async (_what, act, changed, rejected) => {
    for (let round = 0; round < 10 * effort; round += 1) {
      for (const { userId } of owners) await memberships.write({ workspaceId, userId }, "owner");
      const [first, second] = owners;
      const statuses = await Promise.all([
        untilChanged(() => act(first, second), changed),
        untilChanged(() => act(second, first), changed),
      ]);
      expect(new Set(statuses)).toEqual(new Set([changed[0], rejected]));
      expect(await memberships.countOwners(workspaceId)).toBe(1);
    }
  },
);

test("one owner who leaves while the other is disabled, at varying times", async () => {
  for (let round = 0; round < 4 * effort; round += 1) {
    for (const { userId } of owners) await memberships.write({ workspaceId, userId }, "owner");
    const [first, second] = owners;
    const [leaving, disabled] = await Promise.all([
      // The command needs some time to connect to the database.
      delay(round * 10).then(() => untilChanged(() => byKey(first, first), left)),
      nodes.instance.command(["user", "disable", second.email]),
    ]);
    // The later one is rejected, and never are both executed.
    expect([
      [204, 1],
      [409, 0],
    ]).toContainEqual([leaving, disabled.status]);
    if (disabled.status === 0) await nodes.instance.command(["user", "enable", second.email]);
  }
});

test("two owners who are disabled at the same time", async () => {
  for (let round = 0; round < 3; round += 1) {
    for (const { userId } of owners) await memberships.write({ workspaceId, userId }, "owner");
    const endings = await Promise.all(
      owners.map(({ email }) => nodes.instance.command(["user", "disable", email])),
    );
    expect(endings.map(({ status }) => status).toSorted()).toEqual([0, 1]);
    for (const { email } of owners) await nodes.instance.command(["user", "enable", email]);
  }
});
