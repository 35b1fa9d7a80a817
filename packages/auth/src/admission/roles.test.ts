import { randomUUID } from "node:crypto";
import { updateApiKey } from "@latchkey/db/api-key-changes";
import { findApiKey } from "@latchkey/db/api-keys";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings } from "@latchkey/db/key-settings";
import { deleteMember, insertMember, lockUsers, updateMemberRole } from "@latchkey/db/members";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Role } from "@latchkey/db/role";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { deleteWorkspace, insertWorkspace } from "@latchkey/db/workspaces";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { admissionKit } from "./admission.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addUser, addKey } = admissionKit(() => database);

async function addWorkspace(): Promise<WorkspaceScope> {
  const workspace = { name: "Workspace", slug: randomUUID(), ownerId: await addUser() };
  const made = await database.db.transaction().execute((trx) => insertWorkspace(trx, workspace));
  return made?.scope as WorkspaceScope; // No workspace has this slug.
}

/** Adds a member, changes a member's role, or removes a member if there is no role, as the product does. */
async function setRole(scope: WorkspaceScope, userId: UserId, role: Role | undefined): Promise<void> {
  await inWorkspace(database.db, scope, async (trx) => {
    await lockUsers(trx, [userId]);
    if (!role) await deleteMember(trx, scope, { userId });
    else if (!(await insertMember(trx, scope, { userId, role })))
      await updateMemberRole(trx, scope, { userId, role });
    await bumpOwnerVersions(trx, [userId]);
  });
}

const toSee = (scope: WorkspaceScope) =>
  ({ workspaceId: scope.workspaceId, permission: "workspace:read" }) as const;
const toManage = (scope: WorkspaceScope) =>
  ({ workspaceId: scope.workspaceId, permission: "members:manage" }) as const;
const noMember = { kind: "rejected", reason: "no-member" };
const noPermission = { kind: "rejected", reason: "no-permission" };

test("a key can access only its user's workspaces, with the user's role there", async () => {
  const node = openNode();
  const { userId, secret, id } = await addKey();
  const [own, foreign] = [await addWorkspace(), await addWorkspace()];
  await setRole(own, userId, "viewer");
  expect(await node.admit(secret, toSee(own))).toMatchObject({
    kind: "admitted",
    principal: { keyId: id, userId, restrictions: undefined, isRestricted: false },
    access: { scope: { workspaceId: own.workspaceId }, userId, role: "viewer" },
  });
  expect(await node.admit(secret, toManage(own))).toMatchObject(noPermission);
  expect(await node.admit(secret, toSee(foreign))).toMatchObject(noMember);
  const nowhere = { workspaceId: randomUUID() as WorkspaceId, permission: "workspace:read" } as const;
  expect(await node.admit(secret, nowhere)).toMatchObject(noMember);
  expect(await node.admit(secret)).toMatchObject({ kind: "admitted", access: undefined });
  // Rejected requests are not uses.
  expect(await findApiKey(database.db, { userId, id })).toMatchObject({ usageCount: 2 });
});

test("every change to a membership applies to the next request, on every node", async () => {
  const nodes = [openNode(), openNode()];
  const { userId, secret } = await addKey();
  const scope = await addWorkspace();
  const story: [Role | undefined, unknown, unknown][] = [
    [undefined, noMember, noMember],
    ["viewer", { kind: "admitted", access: { role: "viewer" } }, noPermission],
    ["admin", { kind: "admitted", access: { role: "admin" } }, { kind: "admitted" }],
    ["member", { kind: "admitted", access: { role: "member" } }, noPermission],
    ["owner", { kind: "admitted", access: { role: "owner" } }, { kind: "admitted" }],
    [undefined, noMember, noMember],
  ];
  for (const [role, seeing, managing] of story) {
    await setRole(scope, userId, role);
    for (const node of nodes) {
      expect(await node.admit(secret, toSee(scope))).toMatchObject(seeing as object);
      expect(await node.admit(secret, toManage(scope))).toMatchObject(managing as object);
    }
  }
});

test("requests with different requirements are decided separately and counted in one statement", async () => {
  let statements = 0;
  const node = openNode({
    onStatement: () => {
      statements += 1;
    },
  });
  const { userId, id, secret } = await addKey();
  const [one, other] = [await addWorkspace(), await addWorkspace()];
  await setRole(one, userId, "owner");
  await setRole(other, userId, "viewer");
  for (const scope of [one, other]) await node.admit(secret, toSee(scope));
  statements = 0;
  const verdicts = await Promise.all([
    node.admit(secret, toManage(one)),
    node.admit(secret, toSee(other)),
    node.admit(secret),
  ]);
  expect(statements).toBe(1);
  expect(verdicts).toMatchObject([
    { kind: "admitted", access: { scope: { workspaceId: one.workspaceId }, role: "owner" } },
    { kind: "admitted", access: { scope: { workspaceId: other.workspaceId }, role: "viewer" } },
    { kind: "admitted", access: undefined },
  ]);
  expect(await findApiKey(database.db, { userId, id })).toMatchObject({ usageCount: 5 });
});

test("no key can access a deleted workspace, and other workspaces stay accessible", async () => {
  const node = openNode();
  const { userId, secret } = await addKey();
  const [doomed, kept] = [await addWorkspace(), await addWorkspace()];
  for (const scope of [doomed, kept]) await setRole(scope, userId, "member");
  for (const scope of [doomed, kept])
    expect(await node.admit(secret, toSee(scope))).toMatchObject({ kind: "admitted" });
  await inWorkspace(database.db, doomed, (trx) => deleteWorkspace(trx, doomed, { memberIds: [userId] }));
  expect(await node.admit(secret, toSee(doomed))).toMatchObject(noMember);
  expect(await node.admit(secret, toSee(kept))).toMatchObject({ kind: "admitted" });
});

test("under load on two nodes, requests are allowed before a member is removed, and none after the removal returned", async () => {
  const nodes = [openNode(), openNode()];
  const { userId, secret } = await addKey();
  const scope = await addWorkspace();
  for (let round = 0; round < 10; round += 1) {
    await setRole(scope, userId, "member");
    let isRemoved = false;
    let before = 0;
    const stale: unknown[] = [];
    let after = 0;
    const traffic = nodes.map(async (node) => {
      for (let use = 0; use < 2_000 && after < 40; use += 1) {
        const startedAfter = isRemoved;
        const verdict = await node.admit(secret, toSee(scope));
        if (!startedAfter) before += verdict.kind === "admitted" ? 1 : 0;
        else {
          after += 1;
          if (verdict.kind === "admitted") stale.push(verdict);
        }
      }
    });
    await expect.poll(() => before).toBeGreaterThan(20);
    await setRole(scope, userId, undefined);
    isRemoved = true;
    await Promise.all(traffic);
    expect(after).toBeGreaterThanOrEqual(40);
    expect(stale).toEqual([]);
  }
});

test("a role change leaves keys that can't reach the workspace valid, and applies once they are given access to it", async () => {
  const nodes = [openNode(), openNode()];
  const [scope, other] = [await addWorkspace(), await addWorkspace()];
  const { userId, id, secret } = await addKey();
  const key = { userId, id };
  const restrict = (workspaceIds: readonly WorkspaceId[]) =>
    database.db.transaction().execute(async (trx) => {
      await lockUsers(trx, [userId]);
      await updateApiKey(trx, key, { settings: { ...defaultSettings, workspaceIds } });
      await bumpKeyVersions(trx, { keyId: id });
    });
  const readVersion = async () =>
    await database.owner
      .selectFrom("key_counters")
      .select("version")
      .where("key_id", "=", id)
      .executeTakeFirstOrThrow();
  for (const place of [scope, other]) await setRole(place, userId, "owner");
  await restrict([other.workspaceId]);
  for (const node of nodes) {
    // In one batch, so that both are decided based on the same facts.
    const verdicts = [node.admit(secret, toManage(scope)), node.admit(secret, toManage(other))];
    expect(await Promise.all(verdicts)).toMatchObject([
      { kind: "rejected", reason: "workspace-not-in-key" },
      { kind: "admitted" },
    ]);
  }
  const version = await readVersion();
  await setRole(scope, userId, "viewer");
  expect(await readVersion()).toEqual(version);
  for (const node of nodes)
    expect(await node.admit(secret, toManage(other))).toMatchObject({ kind: "admitted" });
  await restrict([other.workspaceId, scope.workspaceId]);
  for (const node of nodes) {
    expect(await node.admit(secret, toManage(scope))).toMatchObject(noPermission);
    expect(await node.admit(secret, toSee(scope))).toMatchObject({ kind: "admitted" });
  }
});

test("a key that is created while its user is being removed can't access the workspace", async () => {
  const node = openNode();
  const userId = await addUser();
  const scope = await addWorkspace();
  await setRole(scope, userId, "member");
  for (let round = 0; round < 10; round += 1) {
    await setRole(scope, userId, "member");
    const [{ secret }] = await Promise.all([
      addKey(userId).then(async (key) => {
        await node.admit(key.secret, toSee(scope));
        return key;
      }),
      setRole(scope, userId, undefined),
    ]);
    expect(await node.admit(secret, toSee(scope))).toMatchObject(noMember);
  }
});
