// A change of permissions applies to the next request: for keys and sessions, on every node, on kept-alive
// connections.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { type KeepAliveConnection, openKeepAliveConnection } from "../support/keep-alive-connection.ts";
import {
  getMembership,
  type Membership,
  type MembershipTable,
  openMembershipTable,
} from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilAnswered, untilChanged } from "../support/until-answered.ts";

let nodes: TwoNodes;
let memberships: MembershipTable;
let owner: Account & { readonly key: string };
let bob: Account & { readonly key: string };
/** Bob, in the owner's workspace. */
let belonging: Membership;
/** Bob's connections to both nodes: one for the key, one for the session. */
let connections: readonly { readonly open: KeepAliveConnection; readonly web: KeepAliveConnection }[];

beforeAll(async () => {
  nodes = await startTwoNodes();
  const { baseUrl } = nodes.left;
  memberships = await openMembershipTable(await connectionTo(nodes.instance.cluster));
  owner = { ...nodes.account, key: (await createKey(baseUrl, nodes.account, "owner")).key };
  const account = await signUp(baseUrl, "bob@example.com");
  bob = { ...account, key: (await createKey(baseUrl, account, "bob")).key };
  const { workspaceId } = await getMembership(baseUrl, owner);
  belonging = { workspaceId, userId: (await getMembership(baseUrl, bob)).userId };
  connections = [nodes.left, nodes.right].map((node) => ({
    open: openKeepAliveConnection(node.baseUrl),
    web: openKeepAliveConnection(node.baseUrl),
  }));
  // From here on, every request uses an open connection.
  await memberships.write(belonging, "viewer");
  await probe();
});

afterAll(async () => {
  for (const { open, web } of connections ?? []) {
    open.close();
    web.close();
  }
  await memberships?.close();
  await nodes?.close();
});

/** Sends a request until it is answered: 503 says nothing about permissions, and the next request must get the new ones too. */
async function ask(connection: KeepAliveConnection, path: string, headers: Record<string, string>) {
  return await untilAnswered(async () => {
    const answer = await connection.ask(path, { headers });
    reused.push(answer.isReused);
    return answer;
  });
}

/** Sends Bob's next requests to both nodes at the same time. Returns the statuses by node. */
async function probe(): Promise<readonly (readonly number[])[]> {
  const { workspaceId } = belonging;
  const input = encodeURIComponent(JSON.stringify({ workspaceId }));
  return await Promise.all(
    connections.map(async ({ open, web }) => {
      const statuses: number[] = [];
      const byKey = async () => {
        for (const path of ["/audit-events", "/members"]) {
          const headers = { Authorization: `Bearer ${bob.key}` };
          statuses.push((await ask(open, `/open/workspaces/${workspaceId}${path}`, headers)).status);
        }
      };
      const bySession = async () => {
        const found: number[] = [];
        for (const path of ["audit.list", "members.list"]) {
          const headers = { Cookie: bob.cookie };
          found.push((await ask(web, `/trpc/${path}?input=${input}`, headers)).status);
        }
        return found;
      };
      const [, found] = await Promise.all([byKey(), bySession()]);
      return [...statuses, ...found];
    }),
  );
}

/** Whether each response so far came on a connection that was used before. */
const reused: boolean[] = [];

/** The statuses of reading the audit log and the members: by key, then by session. */
const asAdmin = [200, 200, 200, 200];
const asViewer = [403, 200, 403, 200];
const asNobody = [403, 403, 403, 403];

async function expectOnBothNodes(expected: readonly number[]): Promise<void> {
  expect(await probe()).toEqual([expected, expected]);
}

/** Changes something about Bob with the owner's key. */
async function change(baseUrl: string, method: "PATCH" | "DELETE", body?: object): Promise<number> {
  const send = async () => {
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
  };
  return await untilChanged(send, method === "DELETE" ? [204, 404] : [200, 200]);
}

test("an added role, a reduced role and a removal apply to the next request, round after round", async () => {
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
    await memberships.write(belonging, "viewer");
    await expectOnBothNodes(asViewer);
  }
  expect(reused.slice(8)).not.toContain(false);
});

test("changes by the web app apply to the next request", async () => {
  for (let round = 0; round < 10; round += 1) {
    await memberships.write(belonging, "admin");
    await expectOnBothNodes(asAdmin);
    const { baseUrl } = round % 2 === 0 ? nodes.left : nodes.right;
    const call = {
      path: "members.remove",
      kind: "mutation",
      input: belonging,
      cookie: owner.cookie,
    } as const;
    const send = async () => (await callProcedure(baseUrl, call)).status;
    expect(await untilChanged(send, [200, 404])).toBe(200);
    await expectOnBothNodes(asNobody);
  }
});

test("a status and the deletion of a service account apply to its keys on the next request", async () => {
  const { workspaceId } = belonging;
  const call = async (path: string, input: object) => {
    const mutation = { path: `serviceAccounts.${path}`, kind: "mutation", cookie: owner.cookie } as const;
    const request = { ...mutation, input: { workspaceId, ...input } };
    const { status, data } = await untilAnswered(() => callProcedure(nodes.left.baseUrl, request));
    expect(status).toBe(200);
    return data as { readonly userId: string; readonly key: string }; // Of `create` and `createKey`.
  };
  for (let round = 0; round < 5; round += 1) {
    const { userId } = await call("create", { name: "Deploys", role: "viewer" });
    const { key } = await call("createKey", { userId, name: "Pipeline" });
    const expectStatus = async (expected: number) => {
      const statuses = await Promise.all(
        connections.map(async ({ open }) => {
          const headers = { Authorization: `Bearer ${key}` };
          return (await ask(open, `/open/workspaces/${workspaceId}/members`, headers)).status;
        }),
      );
      expect(statuses).toEqual([expected, expected]);
    };
    await expectStatus(200);
    await call("change", { userId, isDisabled: true });
    await expectStatus(403);
    await call("change", { userId, isDisabled: false });
    await expectStatus(200);
    await call("delete", { userId });
    await expectStatus(403);
  }
});

test("the deletion of a workspace applies to the next request", async () => {
  const { baseUrl } = nodes.right;
  const headers = { Authorization: `Bearer ${owner.key}`, "Content-Type": "application/json" };
  const body = '{"name":"Doomed"}';
  const made = await untilAnswered(() =>
    fetch(`${baseUrl}/open/workspaces`, { method: "POST", headers, body }),
  );
  const { id } = (await made.json()) as { readonly id: string };
  const before = belonging;
  belonging = { ...belonging, workspaceId: id };
  await memberships.write(belonging, "admin");
  await expectOnBothNodes(asAdmin);
  const deletion = async () =>
    (await fetch(`${baseUrl}/open/workspaces/${id}`, { method: "DELETE", headers })).status;
  expect(await untilChanged(deletion, [204, 403])).toBe(204);
  await expectOnBothNodes(asNobody);
  belonging = before;
});

test("disabling a user revokes keys and sessions immediately on both nodes; enabling restores only the keys", async () => {
  await memberships.write(belonging, "admin");
  for (let round = 0; round < 2; round += 1) {
    const command = ["user", "disable", bob.email];
    expect((await nodes.instance.command(command)).status).toBe(0);
    await expectOnBothNodes([403, 403, 401, 401]);
    expect((await nodes.instance.command(["user", "enable", bob.email])).status).toBe(0);
    await expectOnBothNodes([200, 200, 401, 401]);
  }
  expect(reused.slice(8)).not.toContain(false);
});
