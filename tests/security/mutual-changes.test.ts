// Concurrent changes on two nodes that need the same rows: each succeeds or fails as documented, and none fails
// because of a deadlock.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { expectFailure, expectResult } from "../cli/expect-result.ts";
import { type Account, createKey, signUp } from "../support/account.ts";
import { type DeadlockWatch, watchDeadlocks } from "../support/deadlocks.ts";
import { effort } from "../support/effort.ts";
import { getMembership, type MembershipTable, openMembershipTable } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProcessResult } from "../support/product.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { type ChangeStatuses, untilChanged } from "../support/until-answered.ts";

interface Person extends Account {
  readonly key: string;
  readonly userId: string;
  /** The node that this owner calls. */
  readonly baseUrl: string;
}

const rounds = 20 * effort;

let nodes: TwoNodes;
let memberships: MembershipTable;
let deadlocks: DeadlockWatch;
let ann: Person;
let bob: Person;
/** Members of the deleted workspaces. Each has a key that must lose access to them. */
let others: readonly Person[];

beforeAll(async () => {
  nodes = await startTwoNodes();
  memberships = await openMembershipTable(await connectionTo(nodes.instance.cluster));
  const { left, right } = nodes;
  // Created one after the other, so that ann's row precedes bob's wherever rows are locked in order.
  ann = await createPerson(nodes.account, left.baseUrl);
  bob = await createPerson(await signUp(right.baseUrl, "bob@example.com"), right.baseUrl);
  const addresses = Array.from({ length: 5 }, (_, index) => `member-${index}@example.com`);
  others = await Promise.all(
    addresses.map(async (email) => createPerson(await signUp(left.baseUrl, email), right.baseUrl)),
  );
  deadlocks = await watchDeadlocks(nodes.instance.cluster);
});

afterAll(async () => {
  await deadlocks?.close();
  await memberships?.close();
  await nodes?.close();
});

async function createPerson(account: Account, baseUrl: string): Promise<Person> {
  const { key } = await createKey(baseUrl, account, "key");
  return { ...account, key, baseUrl, userId: (await getMembership(baseUrl, account)).userId };
}

/** Sends a request with a person's key to their node. */
async function send(
  { key, baseUrl }: Person,
  [method, path]: readonly [method: string, path: string],
  body?: object,
  sent?: Readonly<Record<string, string>>,
) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...sent };
  const response = await fetch(`${baseUrl}/open/workspaces${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

/** Creates a workspace owned by ann, with these members. */
async function createWorkspace(members: readonly (readonly [Person, string])[]): Promise<string> {
  // An attempt that got 503 can still be in progress, or have created the workspace.
  const once = { "Idempotency-Key": randomUUID() };
  const isAnswered = async () => {
    const answer = await send(ann, ["POST", ""], { name: "Crossing" }, once);
    return ![409, 503].includes(answer.status) && answer;
  };
  const { status, text } = await vi.waitUntil(isAnswered, { timeout: 60_000 });
  expect(status, text).toBe(201);
  const { id: workspaceId } = JSON.parse(text) as { readonly id: string }; // As documented.
  for (const [{ userId }, role] of members) await memberships.write({ workspaceId, userId }, role);
  return workspaceId;
}

type MemberChange = (actor: Person, target: Person, workspaceId: string) => Promise<number>;

const remove: MemberChange = async (actor, { userId }, workspaceId) =>
  (await send(actor, ["DELETE", `/${workspaceId}/members/${userId}`])).status;

const setRole =
  (role: string): MemberChange =>
  async (actor, { userId }, workspaceId) =>
    (await send(actor, ["PATCH", `/${workspaceId}/members/${userId}`], { role })).status;

/** A workspace that doesn't exist gets the same response as one that the key can't access. */
const deleted: ChangeStatuses = [204, 403];

test.each([
  ["one owner, over two nodes", () => [ann, { ...ann, baseUrl: bob.baseUrl }] as const],
  ["two owners, each half of them", () => [ann, bob] as const],
])("deletes four workspaces with the same members concurrently, by %s", async (_who, pick) => {
  const members = [[bob, "owner"], ...others.map((person) => [person, "member"] as const)] as const;
  for (let round = 0; round < rounds; round += 1) {
    const owners = [...pick(), ...pick()];
    const workspaces: (readonly [Person, string])[] = [];
    for (const owner of owners) workspaces.push([owner, await createWorkspace(members)]);
    const statuses = await Promise.all(
      workspaces.map(([owner, id]) =>
        untilChanged(async () => (await send(owner, ["DELETE", `/${id}`])).status, deleted),
      ),
    );
    expect(statuses).toEqual([204, 204, 204, 204]);
  }
});

const demote = setRole("viewer");
const demoted: ChangeStatuses = [200, 200];
const removed: ChangeStatuses = [204, 404];

/** What each owner does to the other, in separate workspaces, where both changes are allowed. */
const crossings: readonly (readonly [
  string,
  readonly [MemberChange, MemberChange],
  readonly [ChangeStatuses, ChangeStatuses],
])[] = [
  ["demotes", [demote, demote], [demoted, demoted]],
  ["removes", [remove, remove], [removed, removed]],
  ["demotes or removes", [demote, remove], [demoted, removed]],
];

test.each(crossings)(
  "each of two owners %s the other concurrently, in separate workspaces",
  async (_what, [one, other], [ofOne, ofOther]) => {
    const workspaces = [await createWorkspace([]), await createWorkspace([])] as const;
    for (let round = 0; round < rounds; round += 1) {
      await makeOwners(workspaces);
      const statuses = await Promise.all([
        untilChanged(() => one(ann, bob, workspaces[0]), ofOne),
        untilChanged(() => other(bob, ann, workspaces[1]), ofOther),
      ]);
      expect(statuses).toEqual([ofOne[0], ofOther[0]]);
    }
  },
);

async function makeOwners(workspaceIds: readonly string[]): Promise<void> {
  for (const workspaceId of workspaceIds)
    for (const { userId } of [ann, bob]) await memberships.write({ workspaceId, userId }, "owner");
}

/** Success; no longer admitted to the workspace, no longer a member, the last owner; at the deadline, on a busy machine. */
const documented = [200, 204, 403, 404, 409, 503];

test("keeps an owner in each of two workspaces whose two owners change and remove each other concurrently", async () => {
  const workspaces = [await createWorkspace([]), await createWorkspace([])];
  const counts = new Map<number, number>();
  for (let round = 0; round < rounds; round += 1) {
    await makeOwners(workspaces);
    const acts = [setRole("admin"), remove, demote] as const;
    const pick = (position: number): MemberChange => acts[(round + position) % acts.length] ?? remove;
    const statuses = await Promise.all(
      workspaces.flatMap((workspaceId, index) => [
        pick(index)(ann, bob, workspaceId),
        pick(index + 2)(bob, ann, workspaceId),
      ]),
    );
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    expect(documented).toEqual(expect.arrayContaining(statuses));
    for (const workspaceId of workspaces)
      expect(await memberships.countOwners(workspaceId)).toBeGreaterThan(0);
  }
  console.info(`mutual changes in two workspaces: ${JSON.stringify(Object.fromEntries(counts))}`);
  expect((counts.get(200) ?? 0) + (counts.get(204) ?? 0)).toBeGreaterThan(0);
});

/** More changes than are possible while a command runs. */
const maxChanges = 10_000;

/** Repeats a change until the work has ended, and returns the statuses. */
async function repeatWhile(
  act: (turn: number) => Promise<number>,
  work: Promise<unknown>,
): Promise<number[]> {
  let isStopped = false;
  const end = (): void => {
    isStopped = true;
  };
  work.then(end, end);
  const statuses: number[] = [];
  for (let turn = 0; !isStopped && turn < maxChanges; turn += 1) statuses.push(await act(turn));
  return statuses;
}

function expectDisabled(ending: ProcessResult): void {
  expect(expectResult(ending)).toMatchObject({ isDisabled: true });
}

/** The command fails if the user was made an owner of another workspace while it ran. */
function expectDisabledOrRefused(ending: ProcessResult): void {
  if (ending.status === 0) expectDisabled(ending);
  else expectFailure(ending, { status: 1, code: "CONFLICT", message: /keeps becoming the owner/ });
}

test.each([
  ["their role in other workspaces changes", ["member", "viewer"], expectDisabled],
  [
    "they become an owner of other workspaces and lose that role",
    ["owner", "admin"],
    expectDisabledOrRefused,
  ],
] as const)(
  "disables an owner while %s and they change other members' roles",
  async (_what, roles, expectEnding) => {
    const [cat, dan] = others as readonly [Person, Person]; // `others` has five members.
    const ids: string[] = [];
    for (let made = 0; made < 8; made += 1) {
      const members = [[dan, made < 4 ? "owner" : roles[0]] as const, [cat, "viewer"] as const];
      ids.push(await createWorkspace(members));
    }
    const counts = new Map<number, number>();
    for (let round = 0; round < 4; round += 1) {
      const work = nodes.instance.command(["--json", "user", "disable", dan.email]);
      const theirs = ids.slice(0, 4).map((id) => {
        return repeatWhile((turn) => setRole(turn % 2 === 0 ? "member" : "viewer")(dan, cat, id), work);
      });
      const about = ids.slice(4).map((id) => {
        return repeatWhile((turn) => setRole(roles[turn % 2] ?? "viewer")(ann, dan, id), work);
      });
      const [ending, ...answers] = await Promise.all([work, ...theirs, ...about]);
      for (const status of answers.flat()) counts.set(status, (counts.get(status) ?? 0) + 1);
      expectEnding(ending);
      // On a busy machine, a change that waits too long for a lock gets 503.
      expect([200, 403, 503]).toEqual(expect.arrayContaining(answers.flat()));
      expectResult(await nodes.instance.command(["--json", "user", "enable", dan.email]));
    }
    console.info(`disabled amid changes: ${JSON.stringify(Object.fromEntries(counts))}`);
    expect(counts.get(200)).toBeGreaterThan(0);
  },
);

test("Postgres detected no deadlock during these tests", async () => {
  expect(await deadlocks.finish()).toBe(0);
});
