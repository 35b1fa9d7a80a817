import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { updateKey } from "../src/domain/api-key-edits.ts";
import { addMember, changeMemberRole } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { addTeam } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test("of two concurrent edits of a key, the second includes the first, and neither is lost", async () => {
  const { userId, id } = await app.addKey();
  const { db } = app.services;
  const edit = { userId, id, origin: commandOrigin };
  const ipRanges = ["203.0.113.0/24"];
  const firstEdit = Promise.withResolvers<void>();
  const commitSignal = Promise.withResolvers<void>();
  const first = db.transaction().execute(async (trx) => {
    await updateKey(trx, edit, { settings: { isReadOnly: true }, mayExpand: false }, defaultQuotas);
    firstEdit.resolve();
    await commitSignal.promise;
  });
  await firstEdit.promise;
  const second = db
    .transaction()
    .execute((trx) => updateKey(trx, edit, { settings: { ipRanges }, mayExpand: false }, defaultQuotas));
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  commitSignal.resolve();
  await first;
  expect(await second).toMatchObject({ isReadOnly: true, ipRanges });
});

test("a rotation with the version that a page shows keeps the secret that someone else has created since", async () => {
  const { id: workspaceId, owner } = await addTeam(app);
  const { apiKeys, issuedKeys, keyspaces, webhooks } = owner.client;
  const overlapSeconds = 0;
  const apiKey = { id: encodeId("key", (await app.addKey(owner.userId)).id), overlapSeconds };
  const { id: keyspaceId } = await keyspaces.create.mutate({
    ...{ workspaceId, fields: { name: "Orders", prefix: "orders" } },
  });
  const { id } = await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: {} });
  const issuedKey = { workspaceId, keyspaceId, id, overlapSeconds };
  const url = "https://example.com/hook";
  const created = await webhooks.create.mutate({ workspaceId, url, actions: null });
  const webhook = { workspaceId, id: created.id, overlapSeconds };
  const rotations: ((version?: number) => Promise<unknown>)[] = [
    (version) => apiKeys.rotate.mutate({ ...apiKey, version }),
    (version) => issuedKeys.rotate.mutate({ ...issuedKey, version }),
    (version) => webhooks.rotateSecret.mutate({ ...webhook, version }),
  ];
  for (const rotate of rotations) {
    await rotate(1);
    await expect(rotate(1)).rejects.toMatchObject({ data: { code: "PRECONDITION_FAILED" } });
    await rotate(2);
    await rotate(); // Pages of earlier versions send no version.
  }
});

test("a key that is given access to a workspace while its owner's role changes has the new role", async () => {
  const { db } = app.services;
  const origin = commandOrigin;
  const [owner, { userId, id, secret }] = [await app.addUser(), await app.addKey()];
  const addWorkspace = async (name: string, ownerId: typeof userId) => {
    const workspace = { name, description: "", ownerId, origin };
    const { id } = await db.transaction().execute((trx) => createWorkspace(trx, workspace, defaultQuotas));
    return { origin, scope: openAsOperator(id) };
  };
  const [shared, own] = [await addWorkspace("Shared", owner.userId), await addWorkspace("Own", userId)];
  await db.transaction().execute((trx) => addMember(trx, shared, { userId, role: "admin" }, defaultQuotas));
  const restrict = (workspaceIds: readonly (typeof own.scope.workspaceId)[]) =>
    db
      .transaction()
      .execute((trx) =>
        updateKey(
          trx,
          { userId, id, origin },
          { settings: { workspaceIds }, mayExpand: true },
          defaultQuotas,
        ),
      );
  await restrict([own.scope.workspaceId]);
  const roleChange = Promise.withResolvers<void>();
  const commitSignal = Promise.withResolvers<void>();
  const changing = db.transaction().execute(async (trx) => {
    await changeMemberRole(trx, shared, { userId, role: "viewer", versions: undefined }, defaultQuotas);
    roleChange.resolve();
    await commitSignal.promise;
  });
  await roleChange.promise;
  const expanding = restrict([own.scope.workspaceId, shared.scope.workspaceId]);
  // Without the wait, a node could remember the former role with a version that the role change doesn't increment.
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  commitSignal.resolve();
  await Promise.all([changing, expanding]);
  const get = async (path: string) =>
    (
      await fetch(
        `${app.baseUrl}/open/workspaces/${encodeId("workspace", shared.scope.workspaceId)}${path}`,
        {
          headers: { Authorization: `Bearer ${secret}` },
        },
      )
    ).status;
  expect([await get(""), await get("/audit-events")]).toEqual([200, 403]);
});
