// A change of what somebody may do is in force on the next request: for keys and sessions, on every node, on kept connections.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { type KeptConnection, openKeptConnection } from "../support/kept-connection.ts";
import {
  type Belonging,
  getBelonging,
  type MembershipBook,
  openMembershipBook,
} from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

let nodes: TwoNodes;
let book: MembershipBook;
let owner: Account & { readonly key: string };
let bob: Account & { readonly key: string };
/** Bob in the owner's workspace. */
let belonging: Belonging;
/** Of bob, with either node: one for the key, one for the session. */
let connections: readonly { readonly open: KeptConnection; readonly web: KeptConnection }[];

beforeAll(async () => {
  nodes = await startTwoNodes();
  const { baseUrl } = nodes.left;
  book = await openMembershipBook(await connectionTo(nodes.place.cluster));
  owner = { ...nodes.account, key: (await createKey(baseUrl, nodes.account, "owner")).key };
  const account = await signUp(baseUrl, "bob@example.com");
  bob = { ...account, key: (await createKey(baseUrl, account, "bob")).key };
  const { workspaceId } = await getBelonging(baseUrl, owner);
  belonging = { workspaceId, userId: (await getBelonging(baseUrl, bob)).userId };
  connections = [nodes.left, nodes.right].map((node) => ({
    open: openKeptConnection(node.baseUrl),
    web: openKeptConnection(node.baseUrl),
  }));
  // From here on every request finds its connection open.
  await book.write(belonging, "viewer");
  await probe();
});

afterAll(async () => {
  for (const { open, web } of connections ?? []) {
    open.close();
    web.close();
  }
  await book?.close();
  await nodes?.close();
});

/** Bob's next requests, on both nodes at once: the statuses of each node. */
async function probe(): Promise<readonly (readonly number[])[]> {
  const { workspaceId } = belonging;
  const input = encodeURIComponent(JSON.stringify({ workspaceId }));
  return await Promise.all(
    connections.map(async ({ open, web }) => {
      const statuses: number[] = [];
      const byKey = async () => {
        for (const path of ["/audit-events", "/members"]) {
          const headers = { Authorization: `Bearer ${bob.key}` };
          const answer = await open.ask(`/open/workspaces/${workspaceId}${path}`, { headers });
          statuses.push(answer.status);
          reused.push(answer.isReused);
        }
      };
      const bySession = async () => {
        const found: number[] = [];
        for (const path of ["audit.list", "members.list"]) {
          const answer = await web.ask(`/trpc/${path}?input=${input}`, { headers: { Cookie: bob.cookie } });
          found.push(answer.status);
          reused.push(answer.isReused);
        }
        return found;
      };
      const [, found] = await Promise.all([byKey(), bySession()]);
      return [...statuses, ...found];
    }),
  );
}

/** Whether each answer so far came over a connection used before. */
const reused: boolean[] = [];

/** To read the audit log and the members: by key, then by session. */
const asAdmin = [200, 200, 200, 200];
const asViewer = [403, 200, 403, 200];
const asNobody = [403, 403, 403, 403];

async function expectOnBothNodes(expected: readonly number[]): Promise<void> {
  expect(await probe()).toEqual([expected, expected]);
}

/** The owner changes something about bob, by key. */
async function change(baseUrl: string, method: "PATCH" | "DELETE", body?: object): Promise<number> {
  const response = await fetch(
    `${baseUrl}/open/workspaces/${belonging.workspaceId}/members/${belonging.userId}`,
    {
      method,
      headers: { Authorization: `Bearer ${owner.key}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    },
  );
  await response.arrayBuffer();
  return response.status;
}

test("a role given, a role taken and a removal are in force on the next request, round after round", async () => {
  for (let round = 0; round < 20; round += 1) {
    const { baseUrl } = round % 2 === 0 ? nodes.left : nodes.right;
    expect(await change(baseUrl, "PATCH", { role: "admin" })).toBe(200);
    await expectOnBothNodes(asAdmin);
    expect(await change(baseUrl, "PATCH", { role: "viewer" })).toBe(200);
    await expectOnBothNodes(asViewer);
    expect(await change(baseUrl, "PATCH", { role: "admin" })).toBe(200);
    await expectOnBothNodes(asAdmin);
    expect(await change(baseUrl, "DELETE")).toBe(204);
    await expectOnBothNodes(asNobody);
    await book.write(belonging, "viewer");
    await expectOnBothNodes(asViewer);
  }
  expect(reused.slice(8)).not.toContain(false);
});

test("so are changes that the web app makes", async () => {
  for (let round = 0; round < 10; round += 1) {
    await book.write(belonging, "admin");
    await expectOnBothNodes(asAdmin);
    const { baseUrl } = round % 2 === 0 ? nodes.left : nodes.right;
    const call = {
      path: "members.remove",
      kind: "mutation",
      input: belonging,
      cookie: owner.cookie,
    } as const;
    expect((await callProcedure(baseUrl, call)).status).toBe(200);
    await expectOnBothNodes(asNobody);
  }
});

test("so is the end of a whole workspace", async () => {
  const { baseUrl } = nodes.right;
  const headers = { Authorization: `Bearer ${owner.key}`, "Content-Type": "application/json" };
  const made = await fetch(`${baseUrl}/open/workspaces`, {
    method: "POST",
    headers,
    body: '{"name":"Doomed"}',
  });
  const { id } = (await made.json()) as { readonly id: string };
  const before = belonging;
  belonging = { ...belonging, workspaceId: id };
  await book.write(belonging, "admin");
  await expectOnBothNodes(asAdmin);
  expect((await fetch(`${baseUrl}/open/workspaces/${id}`, { method: "DELETE", headers })).status).toBe(204);
  await expectOnBothNodes(asNobody);
  belonging = before;
});

test("a user who is disabled is out at once, on both nodes; enabled again, the keys are good and the session stays ended", async () => {
  await book.write(belonging, "admin");
  for (let round = 0; round < 2; round += 1) {
    const command = ["user", "disable", bob.email];
    expect((await nodes.place.command(command)).status).toBe(0);
    await expectOnBothNodes([403, 403, 401, 401]);
    expect((await nodes.place.command(["user", "enable", bob.email])).status).toBe(0);
    await expectOnBothNodes([200, 200, 401, 401]);
  }
  expect(reused.slice(8)).not.toContain(false);
});
