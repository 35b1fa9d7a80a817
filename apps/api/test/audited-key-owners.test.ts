// The events about API keys in the audit log of a workspace say whose key it is, also after the key and its owner are gone.

import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { Purger } from "@latchkey/db/purger";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { deleteAccount } from "../src/domain/account-deletion.ts";
import { addMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addPerson() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { userId, email, client };
}

/** A workspace of Ada with a member, Grace, who has created a key. */
async function addTeam() {
  const [ada, grace] = [await addPerson(), await addPerson()];
  await ada.client.account.rename.mutate({ name: "Ada" });
  await grace.client.account.rename.mutate({ name: "Grace" });
  const { id: workspaceId } = await ada.client.workspaces.create.mutate({ name: "Team" });
  const id = decodeId("workspace", workspaceId) as WorkspaceId; // It was just created.
  const edit = { scope: openAsOperator(id), origin: commandOrigin };
  const member = { userId: grace.userId, role: "member" } as const;
  await app.services.db.transaction().execute((trx) => addMember(trx, edit, member, defaultQuotas));
  const key = await grace.client.apiKeys.create.mutate({ name: "CI" });
  const readEvents = async () =>
    (await ada.client.audit.list.query({ workspaceId, pageSize: 100 })).items.filter(
      ({ target }) => target.kind === "key",
    );
  return { ada, grace, workspaceId, key, readEvents };
}

const graceIs = (userId: UserId) => ({ id: encodeId("user", userId), name: "Grace", kind: "person" });

/** Deletes the rows of keys that were deleted. */
async function purge(): Promise<void> {
  const purger = new Purger({
    connection: { ...inject("postgres"), database: app.database },
    historyDays: 0,
  });
  await purger.run();
  await purger.close();
}

test("name the owner, also of an event that someone else caused, and other events name none", async () => {
  const { ada, grace, workspaceId, key, readEvents } = await addTeam();
  await ada.client.workspaceKeys.block.mutate({ workspaceId, keyIds: [key.id] });
  const robot = await ada.client.serviceAccounts.create.mutate({
    workspaceId,
    name: "Robot",
    role: "viewer",
  });
  await ada.client.serviceAccounts.createKey.mutate({ workspaceId, userId: robot.userId, name: "Deploys" });
  const events = await readEvents();
  expect(events.map(({ action, target }) => ({ action, owner: target.owner }))).toEqual([
    { action: "key.created", owner: { id: robot.userId, name: "Robot", kind: "service_account" } },
    { action: "key.blocked", owner: graceIs(grace.userId) },
    { action: "key.created", owner: graceIs(grace.userId) },
  ]);
  const { items } = await ada.client.audit.list.query({ workspaceId, action: "member.added" });
  expect(items.map(({ target }) => target.owner)).toEqual([null]);

  const { secret } = await app.addKey(ada.userId);
  const headers = { Authorization: `Bearer ${secret}` };
  const path = `${app.baseUrl}/open/workspaces/${workspaceId}/audit-events`;
  const listed = await (await fetch(`${path}?action=key.blocked`, { headers })).json();
  expect(listed).toMatchObject({ data: [{ target: { id: key.id, owner: graceIs(grace.userId) } }] });
  const exported = await (await fetch(`${path}/export?format=csv&action=key.blocked`, { headers })).text();
  const [head, row] = exported.split("\r\n");
  expect(head).toMatch(/,target\.owner\.id,target\.owner\.name,target\.owner\.kind$/);
  expect(row).toMatch(new RegExp(`,${encodeId("user", grace.userId)},Grace,person$`));
});

test("name the owner after the key was purged, and after the owner's account was deleted", async () => {
  const { grace, key, readEvents } = await addTeam();
  const owners = async () => (await readEvents()).map(({ target }) => target.owner);
  await grace.client.apiKeys.delete.mutate({ id: key.id });
  await purge();
  expect(await owners()).toEqual([graceIs(grace.userId), graceIs(grace.userId)]);
  await deleteAccount({
    userId: grace.userId,
    origin: commandOrigin,
    transact: (work) => app.services.db.transaction().execute(work),
  });
  expect(await owners()).toEqual([
    { ...graceIs(grace.userId), kind: null },
    { ...graceIs(grace.userId), kind: null },
  ]);
});

test("of an earlier version name the owner as long as the key exists", async () => {
  const { grace, workspaceId, key, readEvents } = await addTeam();
  const id = decodeId("workspace", workspaceId);
  await sql`update audit_events set target_owner_id = null where workspace_id = ${id}`.execute(app.owner);
  expect((await readEvents()).map(({ target }) => target.owner)).toEqual([graceIs(grace.userId)]);
  await grace.client.apiKeys.delete.mutate({ id: key.id });
  await purge();
  expect((await readEvents()).map(({ action, target }) => [action, target.owner])).toEqual([
    ["key.deleted", graceIs(grace.userId)],
    ["key.created", null],
  ]);
});
