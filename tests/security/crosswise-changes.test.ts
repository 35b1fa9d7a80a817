// Changes on two nodes at once that need the same rows: each is carried out or refused as documented, none for a deadlock.
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectFailure, expectResult } from "../cli/expect-ending.ts";
import { type Account, createKey, signUp } from "../support/account.ts";
import { type DeadlockWatch, watchDeadlocks } from "../support/deadlocks.ts";
import { effort } from "../support/effort.ts";
import { getBelonging, type MembershipBook, openMembershipBook } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { Ending } from "../support/product.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

interface Person extends Account {
  readonly key: string;
  readonly userId: string;
  /** The node that this one calls. */
  readonly baseUrl: string;
}

const rounds = 20 * effort;

let nodes: TwoNodes;
let book: MembershipBook;
let deadlocks: DeadlockWatch;
let ann: Person;
let bob: Person;
/** Members of what is deleted, each with a key to be put out of force there. */
let others: readonly Person[];

beforeAll(async () => {
  nodes = await startTwoNodes();
  book = await openMembershipBook(await connectionTo(nodes.place.cluster));
  const { left, right } = nodes;
  // Made one after the other: ann's row comes before bob's wherever rows are taken in order.
  ann = await equip(nodes.account, left.baseUrl);
  bob = await equip(await signUp(right.baseUrl, "bob@example.com"), right.baseUrl);
  const addresses = Array.from({ length: 5 }, (_, index) => `member-${index}@example.com`);
  others = await Promise.all(
    addresses.map(async (email) => equip(await signUp(left.baseUrl, email), right.baseUrl)),
  );
  deadlocks = await watchDeadlocks(nodes.place.cluster);
});

afterAll(async () => {
  await deadlocks?.close();
  await book?.close();
  await nodes?.close();
});

async function equip(account: Account, baseUrl: string): Promise<Person> {
  const { key } = await createKey(baseUrl, account, "key");
  return { ...account, key, baseUrl, userId: (await getBelonging(baseUrl, account)).userId };
}

/** Sends a request with somebody's key to their node. */
async function send({ key, baseUrl }: Person, method: string, path: string, body?: object) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const response = await fetch(`${baseUrl}/open/workspaces${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

/** A new workspace of ann's, with these members. */
async function createWorkspace(members: readonly (readonly [Person, string])[]): Promise<string> {
  const { status, text } = await send(ann, "POST", "", { name: "Crossing" });
  expect(status, text).toBe(201);
  const { id: workspaceId } = JSON.parse(text) as { readonly id: string }; // As documented.
  for (const [{ userId }, role] of members) await book.write({ workspaceId, userId }, role);
  return workspaceId;
}

type Act = (actor: Person, target: Person, workspaceId: string) => Promise<number>;

const remove: Act = async (actor, { userId }, workspaceId) =>
  (await send(actor, "DELETE", `/${workspaceId}/members/${userId}`)).status;

const give =
  (role: string): Act =>
  async (actor, { userId }, workspaceId) =>
    (await send(actor, "PATCH", `/${workspaceId}/members/${userId}`, { role })).status;

test.each([
  ["one owner, over two nodes", () => [ann, { ...ann, baseUrl: bob.baseUrl }] as const],
  ["two owners, each half of them", () => [ann, bob] as const],
])(
  "four workspaces with the same members are deleted at once by %s, round after round",
  async (_who, pick) => {
    const members = [[bob, "owner"], ...others.map((person) => [person, "member"] as const)] as const;
    for (let round = 0; round < rounds; round += 1) {
      const owners = [...pick(), ...pick()];
      const doomed: (readonly [Person, string])[] = [];
      for (const owner of owners) doomed.push([owner, await createWorkspace(members)]);
      const answers = await Promise.all(doomed.map(([owner, id]) => send(owner, "DELETE", `/${id}`)));
      expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    }
  },
);

const demote = give("viewer");

/** What each owner does to the other in a workspace of its own, where nothing stands against it. */
const crossings: readonly (readonly [string, readonly [Act, Act], readonly [number, number]])[] = [
  ["demotes", [demote, demote], [200, 200]],
  ["removes", [remove, remove], [204, 204]],
  ["demotes or removes", [demote, remove], [200, 204]],
];

test.each(crossings)(
  "each of two owners %s the other in another workspace at once, round after round",
  async (_what, [one, other], expected) => {
    const workspaces = [await createWorkspace([]), await createWorkspace([])] as const;
    for (let round = 0; round < rounds; round += 1) {
      await makeOwners(workspaces);
      const statuses = await Promise.all([one(ann, bob, workspaces[0]), other(bob, ann, workspaces[1])]);
      expect(statuses).toEqual(expected);
    }
  },
);

async function makeOwners(workspaceIds: readonly string[]): Promise<void> {
  for (const workspaceId of workspaceIds)
    for (const { userId } of [ann, bob]) await book.write({ workspaceId, userId }, "owner");
}

/** Success; not admitted there any more, not a member any more, the last owner. */
const documented = [200, 204, 403, 404, 409];

test("two owners change and remove each other in both of their workspaces at once, and each has an owner left", async () => {
  const workspaces = [await createWorkspace([]), await createWorkspace([])];
  const counts = new Map<number, number>();
  for (let round = 0; round < rounds; round += 1) {
    await makeOwners(workspaces);
    const acts = [give("admin"), remove, demote] as const;
    const pick = (position: number): Act => acts[(round + position) % acts.length] ?? remove;
    const statuses = await Promise.all(
      workspaces.flatMap((workspaceId, index) => [
        pick(index)(ann, bob, workspaceId),
        pick(index + 2)(bob, ann, workspaceId),
      ]),
    );
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    expect(documented).toEqual(expect.arrayContaining(statuses));
    for (const workspaceId of workspaces) expect(await book.countOwners(workspaceId)).toBeGreaterThan(0);
  }
  console.info(`crosswise in two workspaces: ${JSON.stringify(Object.fromEntries(counts))}`);
});

/** Far more than anybody can do while a command runs. */
const maxActs = 10_000;

/** Does one thing after the other until the work is over: what it was answered. */
async function keepActing(act: (turn: number) => Promise<number>, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  const statuses: number[] = [];
  for (let turn = 0; !isOver && turn < maxActs; turn += 1) statuses.push(await act(turn));
  return statuses;
}

function expectDisabled(ending: Ending): void {
  expect(expectResult(ending)).toMatchObject({ isDisabled: true });
}

/** Refused where they came to own one more under the command's eyes. */
function expectDisabledOrRefused(ending: Ending): void {
  if (ending.status === 0) expectDisabled(ending);
  else expectFailure(ending, { status: 1, code: "CONFLICT", message: /becomes an owner time and again/ });
}

test.each([
  ["their role in others is changed", ["member", "viewer"], expectDisabled],
  ["they become an owner of others and cease to be one", ["owner", "admin"], expectDisabledOrRefused],
] as const)(
  "an owner of some workspaces is disabled while %s and they change others' roles",
  async (_what, roles, expectEnding) => {
    const [cat, dan] = others as readonly [Person, Person]; // There are five.
    const ids: string[] = [];
    for (let made = 0; made < 8; made += 1) {
      const members = [[dan, made < 4 ? "owner" : roles[0]] as const, [cat, "viewer"] as const];
      ids.push(await createWorkspace(members));
    }
    const counts = new Map<number, number>();
    for (let round = 0; round < 4; round += 1) {
      const work = nodes.place.command(["--json", "user", "disable", dan.email]);
      const theirs = ids.slice(0, 4).map((id) => {
        return keepActing((turn) => give(turn % 2 === 0 ? "member" : "viewer")(dan, cat, id), work);
      });
      const about = ids.slice(4).map((id) => {
        return keepActing((turn) => give(roles[turn % 2] ?? "viewer")(ann, dan, id), work);
      });
      const [ending, ...answers] = await Promise.all([work, ...theirs, ...about]);
      for (const status of answers.flat()) counts.set(status, (counts.get(status) ?? 0) + 1);
      expectEnding(ending);
      expect([200, 403]).toEqual(expect.arrayContaining(answers.flat()));
      expectResult(await nodes.place.command(["--json", "user", "enable", dan.email]));
    }
    console.info(`disabled amid changes: ${JSON.stringify(Object.fromEntries(counts))}`);
    expect(counts.get(200)).toBeGreaterThan(0);
  },
);

test("in all of this Postgres found no deadlock", async () => {
  expect(await deadlocks.finish()).toBe(0);
});
