// A workspace keeps an owner, whatever its last two owners do at once on two nodes: exactly one of them is refused.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { getBelonging, type MembershipBook, openMembershipBook } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

interface Owner extends Account {
  readonly key: string;
  readonly userId: string;
  /** The node that this one calls. */
  readonly baseUrl: string;
}

let nodes: TwoNodes;
let book: MembershipBook;
let owners: readonly [Owner, Owner];
let workspaceId: string;

beforeAll(async () => {
  nodes = await startTwoNodes();
  book = await openMembershipBook(await connectionTo(nodes.place.cluster));
  const other = await signUp(nodes.left.baseUrl, "bob@example.com");
  workspaceId = (await getBelonging(nodes.left.baseUrl, nodes.account)).workspaceId;
  owners = [await equip(nodes.account, nodes.left.baseUrl), await equip(other, nodes.right.baseUrl)];
  const onlooker = await equip(await signUp(nodes.left.baseUrl, "eve@example.com"), nodes.left.baseUrl);
  await book.write({ workspaceId, userId: onlooker.userId }, "viewer");
});

afterAll(async () => {
  await book?.close();
  await nodes?.close();
});

async function equip(account: Account, baseUrl: string): Promise<Owner> {
  const { key } = await createKey(baseUrl, account, "key");
  return { ...account, key, baseUrl, userId: (await getBelonging(baseUrl, account)).userId };
}

/** Does something about a member, as an owner, by key: the status. */
async function byKey(actor: Owner, target: Owner, role?: string): Promise<number> {
  const response = await fetch(`${actor.baseUrl}/open/workspaces/${workspaceId}/members/${target.userId}`, {
    method: role ? "PATCH" : "DELETE",
    headers: { Authorization: `Bearer ${actor.key}`, "Content-Type": "application/json" },
    ...(role ? { body: JSON.stringify({ role }) } : {}),
  });
  await response.arrayBuffer();
  return response.status;
}

async function leaveBySession({ baseUrl, cookie, userId }: Owner): Promise<number> {
  const input = { workspaceId, userId };
  return (await callProcedure(baseUrl, { path: "members.remove", kind: "mutation", input, cookie })).status;
}

/** What both do at once, and what the two are answered, in any order. */
const stories: readonly (readonly [string, (owner: Owner, other: Owner) => Promise<number>, number[][]])[] = [
  ["leave, by key", (owner) => byKey(owner, owner), [[204, 409]]],
  ["leave, in the web app", leaveBySession, [[200, 409]]],
  ["take a lesser role", (owner) => byKey(owner, owner, "admin"), [[200, 409]]],
  // Whoever is removed or demoted first may no longer do it to the other: found out at the door, or under the lock.
  ["remove each other", (owner, other) => byKey(owner, other), [[204, 403]]],
  ["demote each other", (owner, other) => byKey(owner, other, "viewer"), [[200, 403]]],
];

test.each(stories)("two last owners who %s at once, again and again", async (_what, act, expected) => {
  for (let round = 0; round < 10 * effort; round += 1) {
    for (const { userId } of owners) await book.write({ workspaceId, userId }, "owner");
    const [first, second] = owners;
    const statuses = await Promise.all([act(first, second), act(second, first)]);
    expect(expected).toContainEqual(statuses.toSorted((a, b) => a - b));
    expect(await book.countOwners(workspaceId)).toBe(1);
  }
});

test("one who leaves while the other is disabled, at one moment or another", async () => {
  for (let round = 0; round < 4 * effort; round += 1) {
    for (const { userId } of owners) await book.write({ workspaceId, userId }, "owner");
    const [first, second] = owners;
    const [left, disabled] = await Promise.all([
      // The command takes some time to reach the database.
      delay(round * 10).then(() => byKey(first, first)),
      nodes.place.command(["user", "disable", second.email]),
    ]);
    // Each is refused when the other was first, and never are both carried out.
    expect([
      [204, 1],
      [409, 0],
    ]).toContainEqual([left, disabled.status]);
    if (disabled.status === 0) await nodes.place.command(["user", "enable", second.email]);
  }
});

test("two who are disabled at once", async () => {
  for (let round = 0; round < 3; round += 1) {
    for (const { userId } of owners) await book.write({ workspaceId, userId }, "owner");
    const endings = await Promise.all(
      owners.map(({ email }) => nodes.place.command(["user", "disable", email])),
    );
    expect(endings.map(({ status }) => status).toSorted()).toEqual([0, 1]);
    for (const { email } of owners) await nodes.place.command(["user", "enable", email]);
  }
});
